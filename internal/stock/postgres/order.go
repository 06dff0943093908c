package postgres

import (
	"context"
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
	if !placement.KnownOnly {
		if lines, created, err = s.Place(ctx, placement); created || err != nil {
			return lines, created, err
		}
	}
	lines, err = tables.ReplayOrder(ctx, noting{s.pool, s.clock}, placement)
	return lines, false, translate(err)
}

// Place takes an order, and reports false if it is there already.
func (s *Store) Place(ctx context.Context, placement stock.Placement) (lines []stock.Deduction, created bool, err error) {
	if lines, created, err = s.orderTogether(ctx, placement); created || err != nil {
		return lines, created, translate(err)
	}
	err = s.inTx(ctx, time.Time{}, func(tx transaction) error {
		lines, created, err = tables.PlaceOrder(ctx, tx, placement, true, func(read, write *tables.Statements, line stock.Batch) func() (stock.BatchResult, error) {
			return deductBy(ctx, tx, read, write, line, placement.At)
		})
		if err == nil && created {
			err = s.inTime(ctx, tx, placement, lines)
		}
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return lines, created, nil
}

// inTime has an order that has waited since its decision begin again if a sale has ended meanwhile, and be reserved for as long as
// was asked.
func (s *Store) inTime(ctx context.Context, tx transaction, p stock.Placement, lines []stock.Deduction) error {
	_, now := s.Clock("")
	ended := func(l stock.PlacedLine) bool {
		return !l.SaleWindow.EndsAt.IsZero() && !now.Before(l.SaleWindow.EndsAt)
	}
	if p.At.IsZero() && slices.ContainsFunc(p.Lines, ended) {
		return tables.ErrRaced
	}
	taken := make([]*stock.Deduction, len(lines))
	for i := range lines {
		taken[i] = &lines[i]
	}
	return tx.postpone(ctx, p.At, taken)
}
