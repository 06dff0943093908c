package postgres

import (
	"context"
	"slices"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// instant returns a time for a column; null if it is zero.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

const selectViews = `
SELECT k.sku_id, ` + tables.TermsColumns + `, k.layout,
       (SELECT array_agg(available ORDER BY segment) FROM stock_segments g WHERE g.sku_id = k.sku_id),
       (SELECT expires_at FROM deductions d WHERE d.sku_id = k.sku_id AND d.status = 'reserved' ORDER BY expires_at LIMIT 1)
FROM skus k WHERE k.sku_id = ANY ($1::text[])`

// look reads the views of some SKUs.
func (s *Store) look(ctx context.Context, skus ...string) (map[string]stock.View, error) {
	views := make(map[string]stock.View, len(skus))
	return views, s.pool.Each(ctx, readViews(views), selectViews, skus)
}

// readViews reads the rows of a look.
func readViews(views map[string]stock.View) func(tables.Row) error {
	return func(row tables.Row) error {
		var sku string
		var view stock.View
		err := row.Scan(slices.Concat(
			[]any{&sku}, tables.Terms(&view.Terms), []any{&view.Layout, &view.Segments, (*tables.Time)(&view.NextExpiry)})...)
		views[sku] = view
		return err
	}
}
