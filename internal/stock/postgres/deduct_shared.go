package postgres

import (
	"context"
	"slices"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// writeEach decides each of some batches of different SKUs by itself, in one statement, or in one transaction if the SKUs are in
// different tables: then there is a statement for each set of tables. All of the SKUs have a buyer limit, or none.
func writeEach(ctx context.Context, deadline time.Time, batches []taking) (answers []taken, err error) {
	groups := groupsOf(batches)
	if err := sendGroups(ctx, deadline, groups); err != nil {
		return nil, err
	}
	answers = make([]taken, len(batches))
	for _, p := range groups {
		for i, answer := range p.row.answers(p.batches) {
			answers[p.places[i]] = answer
		}
	}
	return answers, nil
}

// sharedGroup are the batches of a shared write that are in the same tables: usually all.
type sharedGroup struct {
	store   *Store
	counts  bool // the statement counts buyers
	batches []taking
	places  []int // where these batches are among all
	row     sharedRow
}

// groupsOf divides batches into groups.
func groupsOf(batches []taking) (groups []*sharedGroup) {
	of := make(map[*Store]*sharedGroup)
	for i, b := range batches {
		p := of[b.store]
		if p == nil {
			p = &sharedGroup{store: b.store, counts: b.Limit > 0}
			of[b.store], groups = p, append(groups, p)
		}
		p.batches, p.places = append(p.batches, b), append(p.places, i)
	}
	return groups
}

// sendGroups sends the statement for each group, in one transaction and one round trip.
func sendGroups(ctx context.Context, deadline time.Time, groups []*sharedGroup) error {
	statement := "deduct_shared"
	if groups[0].counts {
		statement = "deduct_shared_limited"
	}
	statements := locksToShare(stock.Column(groups, func(p *sharedGroup) Access { return p.store.pool.access })...)
	for _, p := range groups {
		statements.SQL = p.store.pool.access.SQL
		statements.Single(p.columns(), statement, p.arguments(deadline)...)
	}
	sent := time.Now()
	if err := groups[0].store.pool.writing().send(ctx, statements); err != nil {
		return err
	}
	for _, p := range groups {
		p.note(sent)
	}
	return nil
}

// columns returns where to scan the row of a group.
func (p *sharedGroup) columns() []any {
	r := &p.row
	columns := []any{&r.had, &r.available, &r.at, &r.took, &r.orders, &r.units}
	if p.counts {
		return append(columns, &r.locked)
	}
	return append(columns, &r.insertedOf, &r.inserted)
}

// note evaluates the row of a statement that was sent at an instant: the locked batches and the server's clock.
func (p *sharedGroup) note(sent time.Time) {
	r := &p.row
	if !p.counts {
		r.locked = r.had
	}
	if len(r.had) > 0 && p.batches[r.had[0]-1].At.IsZero() {
		p.store.clock.note(sent, r.at[0])
	}
}

// sharedRow is where the row of a shared write is scanned. Arrays may be null.
type sharedRow struct {
	had, available       []int64
	at                   []time.Time
	took, orders, units  []int64
	insertedOf, inserted []string
	locked               []int64 // batches whose rows the statement has locked
}

// answers returns what the row says of each batch. Batches are numbered from 1. Nothing was written of a batch that is not in
// had.
func (r *sharedRow) answers(batches []taking) []taken {
	found := make([]*batchRow, len(batches))
	for i, n := range r.had {
		found[n-1] = &batchRow{before: &r.available[i], at: &r.at[i]}
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
	answers := make([]taken, len(batches))
	for n, b := range batches {
		if found[n] != nil {
			found[n].inserted = ids[b.SKU]
		}
		answers[n] = taken{row: found[n], skipped: true}
	}
	for _, n := range r.locked {
		answers[n-1].skipped = false
	}
	return answers
}

// arguments returns the arguments of the statement.
func (p *sharedGroup) arguments(deadline time.Time) []any {
	var rows tables.Rows
	var given []tables.Instant
	var of, limits []int64
	var orders []stock.Order
	for n, b := range p.batches {
		limits = append(limits, b.Limit)
		rows.Add(b.SKU, tables.LineOf(b.Batch), b.Units())
		given = append(given, tables.Instant(b.At))
		of = append(of, slices.Repeat([]int64{int64(n + 1)}, len(b.Orders))...)
		orders = append(orders, b.Orders...)
	}
	c := tables.ArraysOf(orders)
	args := append(rowArguments(rows), tables.OrNull(given), p.store.deadline(deadline), sharedWait, of, c.OrderIDs, c.Quantities, c.Reserves)
	if p.counts {
		args = append(args, limits)
	}
	return append(args, c.Texts...)
}
