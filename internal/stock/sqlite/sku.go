package sqlite

import (
	"context"
	"database/sql"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Views implements [stock.Store].
func (s *Store) Views(ctx context.Context, skus ...string) (map[string]stock.View, error) {
	views := make(map[string]stock.View, len(skus))
	return views, s.reader.Each(ctx, func(row tables.Row) error {
		var sku string
		var available int64
		var first stock.View // of the first segment's row
		err := row.Scan(append([]any{&sku, &available, &first.Layout, (*tables.Time)(&first.NextExpiry)}, tables.Terms(&first.Terms)...)...)
		view, again := views[sku]
		if !again {
			view = first
		}
		view.Segments = append(view.Segments, available)
		views[sku] = view
		return err
	}, "views", skus)
}

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
		}, "accepted", sku, limit)
	})
	return found, err
}

// Watch implements [stock.Store]. The file belongs to this process, which knows without a notification which units come back.
func (s *Store) Watch(context.Context, func(), func(string)) error { return nil }

// Audit implements [stock.Store].
func (s *Store) Audit(ctx context.Context, sku string) (audit stock.Audit, err error) {
	err = s.snapshot(ctx, func(tx *transaction) error {
		audit, err = tables.Audit(ctx, tx, sku)
		return err
	})
	return audit, err
}
