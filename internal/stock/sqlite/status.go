package sqlite

import (
	"context"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// A row for each segment. What is reserved is counted, and not summed up over deductions, of which there are very many.
// Programs from before the counters do not keep them, so they are not asked where nothing is reserved.
const selectStatus = `
SELECT k.name, k.layout, g.available,
       k.initial + coalesce((SELECT sum(quantity) FROM movements WHERE sku_id = $1), 0),
       CASE WHEN EXISTS (SELECT 1 FROM deductions WHERE sku_id = $1 AND status = 'reserved')
            THEN max((SELECT sum(reserved) FROM stock_segments WHERE sku_id = $1) - k.kept, 0) ELSE 0 END,
       EXISTS (SELECT 1 FROM deductions WHERE sku_id = $1 AND status = 'reserved' AND expires_at <= $2),
       ` + tables.TermsColumns + `
FROM skus k JOIN stock_segments g USING (sku_id)
WHERE k.sku_id = $1 ORDER BY g.segment`

// Status implements [stock.Store].
func (s *Store) Status(ctx context.Context, sku string, at time.Time) (stock.Status, error) {
	status := stock.Status{SKU: sku}
	err := s.reader.Each(ctx, func(row tables.Row) error {
		var available int64
		err := row.Scan(append(
			[]any{&status.Name, &status.Layout, &available, &status.Stock, &status.Reserved, &status.Stale}, tables.Terms(&status.Terms)...)...)
		status.Segments = append(status.Segments, available)
		return err
	}, selectStatus, sku, micros(now(at)))
	if err == nil && status.Segments == nil {
		err = stock.UnknownSKU(sku)
	}
	if err != nil {
		return stock.Status{}, err
	}
	status.Complete()
	return status, nil
}
