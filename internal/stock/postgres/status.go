package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
)

// One statement, so one snapshot. Nothing in it is summed up over deductions: there are very many of a hot SKU. Committed is
// what is neither available nor reserved, and the audit proves both. Programs from before the counters of what is reserved
// do not keep them, so they are not asked where nothing is.
const selectStatus = `
SELECT k.name, ` + termsColumns + `, k.layout,
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
	terms := termsRow{terms: &status.Terms}
	err := s.pool.QueryRow(ctx, selectStatus, sku, instant(at)).Scan(slices.Concat(
		[]any{&status.Name}, terms.columns(),
		[]any{&status.Layout, &status.Stock, &status.Segments, &status.Reserved, &status.Stale})...)
	if errors.Is(err, pgx.ErrNoRows) {
		return stock.Status{}, stock.UnknownSKU(sku)
	}
	if err != nil {
		return stock.Status{}, err
	}
	terms.read()
	status.Complete()
	return status, nil
}
