package postgres

import (
	"context"
	"slices"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// As selectStatus, of a page of SKUs: nothing is summed up over deductions. It asks for the first reservation of each SKU,
// because EXISTS may be planned as one look at all reservations of all SKUs.
const selectSummaries = `
SELECT k.sku_id, k.name, ` + tables.TermsColumns + `, k.layout,
       k.initial + coalesce((SELECT sum(quantity) FROM movements m WHERE m.sku_id = k.sku_id), 0)::bigint,
       g.segments, g.available,
       CASE WHEN (SELECT d.expires_at FROM deductions d WHERE d.sku_id = k.sku_id AND d.status = 'reserved'
                  ORDER BY d.expires_at LIMIT 1) IS NOT NULL
            THEN greatest(g.reserved - k.kept, 0) ELSE 0 END
FROM (SELECT * FROM skus WHERE sku_id > $1 ORDER BY sku_id LIMIT $2::integer) k CROSS JOIN LATERAL (
    SELECT count(*) AS segments, sum(available)::bigint AS available, sum(reserved)::bigint AS reserved
    FROM stock_segments WHERE sku_id = k.sku_id
) g
ORDER BY k.sku_id`

// Summaries implements [stock.Store].
func (s *Store) Summaries(ctx context.Context, after string, limit int) ([]stock.Summary, error) {
	return tables.All(ctx, s.pool, func(row tables.Row) (summary stock.Summary, err error) {
		err = row.Scan(slices.Concat(
			[]any{&summary.SKU, &summary.Name}, tables.Terms(&summary.Terms),
			[]any{&summary.Layout, &summary.Stock, &summary.Segments, &summary.Available, &summary.Reserved})...)
		summary.Committed = summary.Stock - summary.Available - summary.Reserved
		return summary, err
	}, selectSummaries, after, limit)
}
