package postgres

import (
	"context"
	"slices"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// One statement, so one snapshot. Nothing in it is summed up over deductions: there are very many of a hot SKU. Committed is
// what is neither available nor reserved, and the audit proves both. Programs from before the counters of what is reserved
// do not keep them, so they are not asked where nothing is.
const selectStatus = `
SELECT k.name, ` + tables.TermsColumns + `, k.layout,
       k.initial + coalesce((SELECT sum(quantity) FROM movements m WHERE m.sku_id = $1), 0)::bigint,
       g.available,
       CASE WHEN EXISTS (SELECT FROM deductions d WHERE d.sku_id = $1 AND d.status = 'reserved' AND d.expires_at > '-infinity')
            THEN greatest(g.reserved - k.kept, 0) ELSE 0 END,
       EXISTS (SELECT FROM deductions d WHERE d.sku_id = $1 AND d.status = 'reserved'
               AND d.expires_at <= (SELECT coalesce($2::timestamptz, clock_timestamp())))
FROM skus k CROSS JOIN (
    SELECT array_agg(available ORDER BY segment) AS available, sum(reserved)::bigint AS reserved
    FROM stock_segments WHERE sku_id = $1
) g
WHERE k.sku_id = $1`

// Status implements [stock.Store].
func (s *Store) Status(ctx context.Context, sku string, at time.Time) (stock.Status, error) {
	status := stock.Status{SKU: sku}
	found, err := tables.One(ctx, s.pool, slices.Concat(
		[]any{&status.Name}, tables.Terms(&status.Terms),
		[]any{&status.Layout, &status.Stock, &status.Segments, &status.Reserved, &status.Stale}), selectStatus, sku, instant(at))
	if err == nil && !found {
		err = stock.UnknownSKU(sku)
	}
	if err != nil {
		return stock.Status{}, err
	}
	status.Complete()
	return status, nil
}
