package sqlite

import (
	"context"
	"database/sql"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

const selectAccepted = `SELECT order_id FROM deductions WHERE sku_id = $1 LIMIT $2`

// SoldOut implements [stock.Store].
func (s *Store) SoldOut(ctx context.Context, sku string, limit int, accepted func([]byte)) (found stock.SoldOutState, err error) {
	err = s.snapshot(ctx, func(tx *transaction) error {
		segments, err := readSegments(ctx, tx, sku)
		if err != nil {
			return err
		}
		found = stock.SoldOutStateOf(segments)
		if found.NextExpiry, err = nextExpiry(ctx, tx, sku); err != nil || !found.SoldOut || limit == 0 {
			return err
		}
		return tx.Each(ctx, func(row tables.Row) error {
			var id sql.RawBytes
			err := row.Scan(&id)
			accepted(id)
			return err
		}, selectAccepted, sku, limit)
	})
	if err != nil {
		return stock.SoldOutState{}, err
	}
	return found, nil
}

// Watch implements [stock.Store]. The file belongs to this process, which knows by itself what comes back.
func (s *Store) Watch(context.Context, func(), func(string)) error { return nil }
