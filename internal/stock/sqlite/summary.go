package sqlite

import (
	"context"
	"database/sql"

	"inventory/internal/stock"
)

// As selectStatus, of a page of SKUs: nothing is summed up over deductions.
const selectSummaries = `
SELECT k.sku_id, k.name, k.layout, count(*), sum(g.available),
       k.initial + coalesce((SELECT sum(quantity) FROM movements m WHERE m.sku_id = k.sku_id), 0),
       CASE WHEN EXISTS (SELECT 1 FROM deductions d WHERE d.sku_id = k.sku_id AND d.status = 'reserved')
            THEN max(sum(g.reserved) - k.kept, 0) ELSE 0 END,
       ` + termsColumns + `
FROM (SELECT * FROM skus WHERE sku_id > $1 ORDER BY sku_id LIMIT $2) k JOIN stock_segments g USING (sku_id)
GROUP BY k.sku_id ORDER BY k.sku_id`

// Summaries implements [stock.Store].
func (s *Store) Summaries(ctx context.Context, after string, limit int) (summaries []stock.Summary, err error) {
	err = s.each(ctx, func(rows *sql.Rows) error {
		var summary stock.Summary
		var terms termsRow
		err := rows.Scan(append(
			[]any{&summary.SKU, &summary.Name, &summary.Layout, &summary.Segments, &summary.Available, &summary.Stock, &summary.Reserved}, terms.columns()...)...)
		summary.Terms = terms.read()
		summary.Committed = summary.Stock - summary.Available - summary.Reserved
		summaries = append(summaries, summary)
		return err
	}, selectSummaries, after, limit)
	return summaries, err
}
