package postgres

import (
	"context"
	_ "embed"
	"time"

	"inventory/internal/stock"
)

//go:embed deduct_shared.sql
var deductSharedFile string

var deductSharedSQL = withInsertOf("sku", deductSharedFile, 16)

// sharedRow is where the row of a shared write is scanned. Arrays may be null.
type sharedRow struct {
	had, available       []int64
	at                   []time.Time
	took, orders, units  []int64
	insertedOf, inserted []string
}

// deductShared writes batches of different SKUs in one statement.
func (s *Store) deductShared(ctx context.Context, deadline time.Time, batches []sharedBatch) ([]batchAnswer, error) {
	var r sharedRow
	sent := time.Now()
	err := s.pool.QueryRow(ctx, deductSharedSQL, s.sharedArguments(deadline, batches)...).Scan(
		&r.had, &r.available, &r.at, &r.took, &r.orders, &r.units, &r.insertedOf, &r.inserted)
	if err != nil {
		return nil, err
	}
	if len(r.had) > 0 && batches[r.had[0]-1].At.IsZero() {
		s.clock.note(sent, r.at[0])
	}
	return r.answers(batches), nil
}

// answers returns what the row says of each batch. Batches are numbered from 1. Of one whose row was not available it says
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
		answers[n] = batchAnswer{whole: found[n], skipped: found[n] == nil}
	}
	return answers
}

// sharedArguments returns the arguments of the statement.
func (s *Store) sharedArguments(deadline time.Time, batches []sharedBatch) []any {
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
	return append(args, orders.texts...)
}
