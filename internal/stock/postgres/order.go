package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Order implements [stock.Store].
//
// If each line has a segment, one statement is tried first, which orders that wait at the same time share. It only accepts, it
// does not refuse. All other orders have a transaction of their own.
func (s *Store) Order(ctx context.Context, placement stock.Placement) (lines []stock.Deduction, created bool, err error) {
	if lines, created, err = s.Place(ctx, placement); created || err != nil {
		return lines, created, err
	}
	lines, err = tables.ReplayOrder(ctx, s.pool, placement)
	return lines, false, translate(err)
}

// Place takes an order, and reports false if it is there already.
func (s *Store) Place(ctx context.Context, placement stock.Placement) (lines []stock.Deduction, created bool, err error) {
	lines, known, err := s.orderTogether(ctx, placement)
	switch {
	case lines != nil || known || err != nil:
		return lines, lines != nil, translate(err)
	case placement.AtOnce:
		return nil, false, stock.ErrLayout
	}
	err = s.inTx(ctx, time.Time{}, func(tx transaction) error {
		lines, created, err = tables.PlaceOrder(ctx, tx, placement, true)
		if err != nil || !created {
			return err
		}
		var ends time.Time
		for _, l := range placement.Lines {
			ends = stock.Earlier(ends, l.SaleWindow.EndsAt)
		}
		taken := make([]*stock.Deduction, len(lines))
		for i := range lines {
			taken[i] = &lines[i]
		}
		return tx.inTime(ctx, placement.At, ends, taken)
	})
	if err != nil {
		return nil, false, err
	}
	return lines, created, nil
}

// mostSharedLines bounds the lines of a write that orders of several SKUs share; a line of several segments counts once for each. A larger
// order has a write of its own.
const mostSharedLines = 512

// orderTogether places an order by a statement that it may share with others. It returns no lines if the statement has not taken
// the order: because it is known, or otherwise because it has to go by itself.
func (s *Store) orderTogether(ctx context.Context, p stock.Placement) (lines []stock.Deduction, known bool, err error) {
	if !s.mayShareOrder(p) {
		return nil, false, nil
	}
	got, err := s.sharing.together(ctx, time.Time{}, sharedItem{order: &p, store: s})
	if err = cmp.Or(err, got.err); got.at == nil || err != nil {
		return nil, false, err
	}
	if got.at.IsZero() {
		return nil, true, nil
	}
	return p.AcceptedLines(got.at.UTC()), false, nil
}

// mayShareOrder reports whether one statement may take an order: it is known of each line from which segments it takes, and no
// buyers are counted.
func (s *Store) mayShareOrder(p stock.Placement) bool {
	return rowsOf(p) <= stock.MaxLines && (s.pool.access.Orders == nil || !divided(p)) &&
		!slices.ContainsFunc(p.Lines, func(l stock.PlacedLine) bool { return l.Segment < 0 && l.Parts == nil || l.Limit > 0 })
}

// divided reports whether a line takes from several segments. Only the statement for all that waits takes such an order.
func divided(p stock.Placement) bool {
	return slices.ContainsFunc(p.Lines, func(l stock.PlacedLine) bool { return l.Parts != nil })
}

// roomForOrders takes as many lines as one write may have. Orders that know a row differently do not go together, nor do two with
// one id.
func roomForOrders() func(stock.Placement) bool {
	rows, ids, lines := knownRows{}, make(map[string]bool), 0
	return func(p stock.Placement) bool {
		if lines > 0 && lines+rowsOf(p) > mostSharedLines || ids[p.Order.OrderID] {
			return false
		}
		all := p.Batches()
		if slices.ContainsFunc(all, func(l stock.PlacedLine) bool { return !rows.agrees(l) }) {
			return false
		}
		for _, l := range all {
			rows.add(l)
		}
		lines += rowsOf(p)
		ids[p.Order.OrderID] = true
		return true
	}
}

// orderEach decides each of some orders by itself, where their tables are: see [Access].
func orderEach(ctx context.Context, deadline time.Time, items []sharedItem) ([]sharedAnswer, error) {
	s := items[0].store
	if s.pool.access.Orders == nil {
		return takeEach(ctx, deadline, items)
	}
	at, err := s.pool.access.Orders(ctx, s, deadline, stock.Column(items, func(t sharedItem) stock.Placement { return *t.order }))
	if err != nil {
		return nil, fmt.Errorf("place orders: %w", err)
	}
	return stock.Column(at, func(at *time.Time) sharedAnswer { return sharedAnswer{at: at} }), nil
}
