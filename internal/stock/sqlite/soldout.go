package sqlite

import (
	"context"
	"database/sql"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// SoldOut implements [stock.Store].
func (s *Store) SoldOut(ctx context.Context, sku string, limit int, accepted func([]byte)) (found stock.SoldOutState, err error) {
	err = s.snapshot(ctx, func(tx *transaction) error {
		var err error
		if found, err = tables.SoldOut(ctx, tx, sku); err != nil || !found.SoldOut || limit == 0 {
			return err
		}
		return tx.Each(ctx, func(row tables.Row) error {
			var id sql.RawBytes
			err := row.Scan(&id)
			accepted(id)
			return err
		}, tables.SelectAccepted, sku, limit)
	})
	return found, err
}

// Watch implements [stock.Store]. The file belongs to this process, which knows without a notification which units come back.
func (s *Store) Watch(context.Context, func(), func(string)) error { return nil }
