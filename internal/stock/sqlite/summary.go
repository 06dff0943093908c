package sqlite

import (
	"context"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// As selectStatus, of a page of SKUs: nothing is summed up over deductions.
const selectSummaries = `
SELECT k.sku_id, k.name, k.layout, count(*), sum(g.available),
       k.initial + coalesce((SELECT sum(quantity) FROM movements m WHERE m.sku_id = k.sku_id), 0),
       CASE WHEN EXISTS (SELECT 1 FROM deductions d WHERE d.sku_id = k.sku_id AND d.status = 'reserved')
            THEN max(sum(g.reserved) - k.kept, 0) ELSE 0 END,
       ` + tables.TermsColumns + `
FROM (SELECT * FROM skus WHERE sku_id > $1 ORDER BY sku_id LIMIT $2) k JOIN stock_segments g USING (sku_id)
GROUP BY k.sku_id ORDER BY k.sku_id`

// Summaries implements [stock.Store].
func (s *Store) Summaries(ctx context.Context, after string, limit int) ([]stock.Summary, error) {
	return tables.All(ctx, s.reader, func(row tables.Row) (summary stock.Summary, err error) {
		err = row.Scan(append([]any{
			&summary.SKU, &summary.Name, &summary.Layout, &summary.Segments, &summary.Available, &summary.Stock, &summary.Reserved,
		}, tables.Terms(&summary.Terms)...)...)
		summary.Committed = summary.Stock - summary.Available - summary.Reserved
		return summary, err
	}, selectSummaries, after, limit)
}
