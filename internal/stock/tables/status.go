package tables

import (
	"context"
	"time"

	"inventory/internal/stock"
)

// SelectStatus reads a row for each segment. It sums nothing over deductions: a hot SKU has very many. Committed is what is
// neither available nor reserved, and the audit proves both. Programs from before the counters of reserved units do not maintain
// them, so the counters are not read if no reservation is live.
const SelectStatus = `
SELECT k.name, k.layout, g.available,
       k.initial + coalesce((SELECT sum(quantity) FROM movements m WHERE m.sku_id = $1), 0)::bigint,
       CASE WHEN (SELECT d.expires_at FROM deductions d WHERE d.sku_id = $1 AND d.status = 'reserved'
                  ORDER BY d.expires_at LIMIT 1) IS NOT NULL
            THEN greatest((SELECT sum(reserved) FROM stock_segments s WHERE s.sku_id = $1)::bigint - k.kept, 0) ELSE 0 END,
       EXISTS (SELECT 1 FROM deductions d WHERE d.sku_id = $1 AND d.status = 'reserved'
               AND d.expires_at <= (SELECT coalesce($2::timestamptz, clock_timestamp()))),
       ` + TermsColumns + `
FROM skus k JOIN stock_segments g USING (sku_id)
WHERE k.sku_id = $1 ORDER BY g.segment`

// Status implements [stock.Store].
func (b Base) Status(ctx context.Context, sku string, at time.Time) (stock.Status, error) {
	status := stock.Status{SKU: sku}
	var available int64
	columns := append([]any{
		&status.Name, &status.Layout, &available, &status.Stock, &status.Reserved, &status.Stale,
	}, Terms(&status.Terms)...)
	err := b.DB.Each(ctx, func(row Row) error {
		err := row.Scan(columns...)
		status.Segments = append(status.Segments, available)
		return err
	}, SelectStatus, sku, At(at))
	if err == nil && status.Segments == nil {
		err = stock.UnknownSKU(sku)
	}
	if err != nil {
		return stock.Status{}, err
	}
	status.Complete()
	return status, nil
}

// SelectSummaries is as [SelectStatus], for a page of SKUs: it sums nothing over deductions. It reads the first reservation of
// each SKU, because EXISTS may be planned as one scan of all reservations of all SKUs.
const SelectSummaries = `
SELECT k.sku_id, k.name, k.layout, count(*), sum(g.available)::bigint,
       k.initial + coalesce((SELECT sum(quantity) FROM movements m WHERE m.sku_id = k.sku_id), 0)::bigint,
       CASE WHEN (SELECT d.expires_at FROM deductions d WHERE d.sku_id = k.sku_id AND d.status = 'reserved'
                  ORDER BY d.expires_at LIMIT 1) IS NOT NULL
            THEN greatest(sum(g.reserved)::bigint - k.kept, 0) ELSE 0 END,
       ` + TermsColumns + `
FROM skus k JOIN stock_segments g USING (sku_id)
WHERE k.sku_id IN (SELECT sku_id FROM skus WHERE sku_id > $1 ORDER BY sku_id LIMIT $2::integer)
GROUP BY k.sku_id ORDER BY k.sku_id`

// Summaries implements [stock.Store].
func (b Base) Summaries(ctx context.Context, after string, limit int) ([]stock.Summary, error) {
	return All(ctx, b.DB, func(row Row) (summary stock.Summary, err error) {
		err = row.Scan(append([]any{
			&summary.SKU, &summary.Name, &summary.Layout, &summary.Segments, &summary.Available, &summary.Stock, &summary.Reserved,
		}, Terms(&summary.Terms)...)...)
		summary.Committed = summary.Stock - summary.Available - summary.Reserved
		return summary, err
	}, SelectSummaries, after, limit)
}
