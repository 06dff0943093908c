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
		placement := placement
		placement.At = now(placement.At)
		if !placement.KnownOnly {
			if created, err = insertOrder(ctx, tx, placement); err != nil {
				return err
			}
		}
		if !created {
			there, err := tables.OrderWithLines(ctx, tx, placement.Order.OrderID)
			if err == nil {
				lines, err = placement.Replay(there)
			}
			return err
		}
		lines, err = placement.Place(func(line stock.Batch) (stock.BatchResult, error) {
			return s.deductLine(ctx, tx, line)
		}, func(line stock.Merge) (stock.MergeResult, error) {
			return s.merge(ctx, tx, line)
		})
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return lines, created, nil
}

// deductLine is a batch that has what has expired back first, so that one segment fills more lines.
func (s *Store) deductLine(ctx context.Context, tx *transaction, line stock.Batch) (result stock.BatchResult, err error) {
	segments, err := readSegments(ctx, tx, line.SKU)
	if err != nil {
		return result, err
	}
	if _, _, err := s.expire(ctx, tx, line.SKU, line.At, len(segments)); err != nil {
		return result, err
	}
	return s.deduct(ctx, tx, line)
}

const insertOrderRow = `
INSERT INTO orders (order_id, buyer_id, reserve_micros, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (order_id) DO NOTHING`

const insertLine = `INSERT INTO order_lines (order_id, sku_id, quantity) VALUES ($1, $2, $3)`

// insertOrder inserts an order with its lines, unless it is there already.
func insertOrder(ctx context.Context, tx *transaction, p stock.Placement) (created bool, err error) {
	o := p.Order
	created, err = changed(tx.ExecContext(ctx, insertOrderRow, o.OrderID, orNull(o.BuyerID), o.ReserveFor.Microseconds(), micros(p.At)))
	if err != nil || !created {
		return false, err
	}
	for _, line := range o.Lines {
		if _, err := tx.ExecContext(ctx, insertLine, o.OrderID, line.SKU, line.Quantity); err != nil {
			return false, err
		}
	}
	return true, nil
}
