package postgres

import (
	"context"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// takeTogether takes batches and orders of several SKUs by one statement: all of them, or nothing.
func takeTogether(ctx context.Context, deadline time.Time, all []taking) ([]taken, error) {
	s := all[0].store
	var orders []stock.Placement
	var batches []stock.Batch
	for _, t := range all {
		if t.order != nil {
			orders = append(orders, *t.order)
		} else {
			batches = append(batches, t.Batch)
		}
	}
	o, agree := tables.OrdersOf(orders, batches...)
	if !agree {
		return nil, ErrApart
	}
	left, now, err := s.takeRows(ctx, deadline, o)
	if err != nil {
		return nil, err
	}
	return answersOf(all, o, left, now), nil
}

// takeRows sends the statement, and returns what the segments hold then, and its instant.
func (s *Store) takeRows(ctx context.Context, deadline time.Time, o tables.Orders) (left []int64, now time.Time, err error) {
	starts, ends := o.Rows.Window()
	args := append(rowArguments(o.Rows)[:6], o.Rows.Reserved, instant(starts), instant(ends), s.deadline(deadline), sharedWait,
		o.Lines.OrderIDs, o.SKUs, o.Segments, o.Lines.Quantities, o.Lines.Reserves, tables.OrNull(o.LinesGiven), o.InOrders,
		o.Heads.OrderIDs, o.Heads.Reserves, tables.OrNull(o.Given), o.PartSKUs, o.Parts.OrderIDs, o.Parts.Segments, o.Parts.Quantities)
	args = append(append(args, o.Heads.Texts...), o.Lines.Texts...)
	sent := time.Now()
	if err := tables.Single(ctx, writing{s.pool}, []any{&now, &left, nil}, "take_together", args...); err != nil {
		return nil, now, err
	}
	s.clock.note(sent, now)
	return left, now, nil
}

// answersOf returns the answers after all was taken.
func answersOf(all []taking, o tables.Orders, left []int64, now time.Time) []taken {
	var emptied []string
	for i, units := range left {
		if units == 0 {
			emptied = append(emptied, o.Rows.SKUs[i])
		}
	}
	decided := func(given time.Time) *time.Time {
		if given.IsZero() {
			return &now
		}
		return &given
	}
	answers := make([]taken, len(all))
	line := o.InOrders // the first line of the next batch
	for i, t := range all {
		if t.order != nil {
			answers[i].at = decided(t.order.At)
			t.order.LeftEmpty(emptied)
			continue
		}
		row := o.From[line] - 1
		line += len(t.Orders)
		before := left[row] + t.orders.Units
		answers[i].row = &batchRow{before: &before, after: &left[row], orders: len(t.Orders), at: decided(t.At)}
	}
	return answers
}
