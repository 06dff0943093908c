package sqlite

import (
	"context"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Order implements [stock.Store].
func (s *Store) Order(ctx context.Context, placement stock.Placement) (lines []stock.Deduction, created bool, err error) {
	err = s.inShared(ctx, time.Time{}, len(placement.Lines), func(tx *transaction) error {
		lines, created, err = tables.PlaceOrder(ctx, tx, placement, false, func(_, _ *tables.Statements, line stock.Batch) func() (stock.BatchResult, error) {
			return func() (stock.BatchResult, error) { return s.deductLine(ctx, tx, line) }
		})
		if err == nil && !created {
			lines, err = tables.ReplayOrder(ctx, tx, placement)
		}
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return lines, created, nil
}

// deductLine carries out a batch after it has given back the units of expired reservations, so that one segment fills more lines.
func (s *Store) deductLine(ctx context.Context, tx *transaction, line stock.Batch) (stock.BatchResult, error) {
	statements := &tables.Statements{}
	tx.Expire(statements, line.SKU, line.At)
	if err := tx.Send(ctx, statements); err != nil {
		return stock.BatchResult{}, err
	}
	return s.deduct(ctx, tx, line)
}
