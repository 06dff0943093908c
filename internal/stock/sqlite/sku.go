package sqlite

import (
	"context"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// For the SKUs in the JSON array $1, a row for each segment.
const selectViews = `
SELECT k.sku_id, g.available, k.layout, CASE g.segment WHEN 0 THEN
    (SELECT min(expires_at) FROM deductions d WHERE d.sku_id = k.sku_id AND d.status = 'reserved') END, ` + tables.TermsColumns + `
FROM skus k JOIN stock_segments g USING (sku_id)
WHERE k.sku_id IN (SELECT value FROM json_each($1)) ORDER BY k.sku_id, g.segment`

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
	}, selectViews, skus)
}
