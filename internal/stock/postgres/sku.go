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
       (SELECT expires_at FROM deductions d WHERE d.sku_id = k.sku_id AND d.status = 'reserved' ORDER BY expires_at LIMIT 1),
       clock_timestamp()
FROM skus k WHERE k.sku_id = ANY ($1::text[])`

// Views implements [stock.Store].
func (s *Store) Views(ctx context.Context, skus ...string) (map[string]stock.View, error) {
	views := make(map[string]stock.View, len(skus))
	return views, s.pool.Each(ctx, s.readViews(views), selectViews, skus)
}

// readViews reads the rows of a look that is sent now. Whoever looks holds an order to the terms, and so learns the server's clock:
// a process that only refuses would have it from long ago.
func (s *Store) readViews(views map[string]stock.View) func(tables.Row) error {
	sent := time.Now()
	return func(row tables.Row) error {
		var sku string
		var view stock.View
		var now time.Time
		err := row.Scan(slices.Concat(
			[]any{&sku}, tables.Terms(&view.Terms), []any{&view.Layout, &view.Segments, (*tables.Time)(&view.NextExpiry), &now})...)
		if err == nil {
			views[sku] = view
			s.clock.note(sent, now)
		}
		return err
	}
}
