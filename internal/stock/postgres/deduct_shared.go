package postgres

import (
	"context"
	_ "embed"
	"time"

	"inventory/internal/stock"
)

var (
	//go:embed deduct_shared.sql
	deductSharedFile string
	//go:embed deduct_shared_limited.sql
	deductSharedLimitedFile string

	deductSharedSQL        = withInsertOf("sku", deductSharedFile, 16)
	deductSharedNewSQL     = withoutKnown(deductSharedSQL)
	deductSharedLimitedSQL = withInsertOf("sku", deductSharedLimitedFile, 17)
)

// sharedRow is where the row of a shared write is scanned. Arrays may be null.
type sharedRow struct {
	had, available       []int64
	at                   []time.Time
	took, orders, units  []int64
	insertedOf, inserted []string
	locked               []int64 // batches whose rows the statement has locked
}

// deductShared writes batches of different SKUs without a buyer limit in one statement.
func (s *Store) deductShared(ctx context.Context, deadline time.Time, batches []sharedBatch) ([]batchAnswer, error) {
	var r sharedRow
	args := s.sharedArguments(deadline, batches)
	send := func(sql string) error { return s.sendShared(ctx, batches, &r, sql, args, &r.insertedOf, &r.inserted) }
	var err error
	lookUp := s.sharing.expectsKnown()
	if !lookUp {
		err = send(deductSharedNewSQL)
		lookUp = stateOf(err) == uniqueViolation
	}
	if lookUp {
		err = send(deductSharedSQL)
	}
	if err != nil {
		return nil, err
	}
	r.locked = r.had
	return r.answers(batches), nil
}

// deductSharedLimited is that of SKUs that have one.
func (s *Store) deductSharedLimited(ctx context.Context, deadline time.Time, batches []sharedBatch) ([]batchAnswer, error) {
	var r sharedRow
	limits := make([]int64, len(batches))
	for n, b := range batches {
		limits[n] = b.Limit
	}
	err := s.sendShared(ctx, batches, &r, deductSharedLimitedSQL, s.sharedArguments(deadline, batches, limits), &r.locked)
	if err != nil {
		return nil, err
	}
	return r.answers(batches), nil
}

// sendShared sends the statement, and reads the columns that both kinds have, and more.
func (s *Store) sendShared(ctx context.Context, batches []sharedBatch, r *sharedRow, sql string, args []any, more ...any) error {
	columns := []any{&r.had, &r.available, &r.at, &r.took, &r.orders, &r.units}
	sent := time.Now()
	if err := s.pool.QueryRow(ctx, sql, args...).Scan(append(columns, more...)...); err != nil {
		return err
	}
	if len(r.had) > 0 && batches[r.had[0]-1].At.IsZero() {
		s.clock.note(sent, r.at[0])
	}
	return nil
}

// answers returns what the row says of each batch. Batches are numbered from 1. Of one that is not among those it had it says
// nothing.
func (r *sharedRow) answers(batches []sharedBatch) []batchAnswer {
	found := make([]*whole, len(batches))
	for i, n := range r.had {
		found[n-1] = &whole{before: &r.available[i], at: &r.at[i]}
	}
	for i, n := range r.took {
		w := found[n-1]
		after := *w.before - r.units[i]
		w.orders, w.after = int(r.orders[i]), &after
	}
	ids := make(map[string][]string)
	for i, sku := range r.insertedOf {
		ids[sku] = append(ids[sku], r.inserted[i])
	}
	answers := make([]batchAnswer, len(batches))
	for n, b := range batches {
		if found[n] != nil {
			found[n].inserted = ids[b.SKU]
		}
		answers[n] = batchAnswer{whole: found[n], skipped: true}
	}
	for _, n := range r.locked {
		answers[n-1].skipped = false
	}
	return answers
}

// sharedArguments returns the arguments of the statement. More come before the texts.
func (s *Store) sharedArguments(deadline time.Time, batches []sharedBatch, more ...any) []any {
	var rows rowArrays
	given := make(instants, len(batches))
	var of []int64
	var orders arrays
	for n, b := range batches {
		rows.add(b.SKU, stock.PlacedLine{Layout: b.Layout, SaleWindow: b.SaleWindow, Segment: b.Segment, Fence: b.Fence})
		rows.units[n] = b.orders.units
		given.set(n, b.At)
		for range b.orders.orderIDs {
			of = append(of, int64(n+1))
		}
		orders.add(b.orders)
	}
	args := append(rows.arguments(), given.orNull(), s.deadline(deadline), sharedWait, of, orders.orderIDs, orders.quantities, orders.reserves)
	return append(append(args, more...), orders.texts...)
}
