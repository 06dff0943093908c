package sqlite

import (
	"context"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

const insertSKU = `
INSERT INTO skus (sku_id, name, initial, segments, created_at, sale_starts_at, sale_ends_at, per_buyer_limit, max_quantity,
                  max_reserve_us)
VALUES ($1, $2, $3, $4, $5, $6, $7, nullif($8, 0), nullif($9, 0), nullif($10, 0))
ON CONFLICT (sku_id) DO NOTHING`

const insertSegment = `INSERT INTO stock_segments (sku_id, segment, available) VALUES ($1, $2, $3)`

// CreateSKU implements [stock.Store].
func (s *Store) CreateSKU(ctx context.Context, sku stock.NewSKU, at time.Time) (created bool, err error) {
	err = s.inTx(ctx, time.Time{}, func(tx *transaction) error {
		since := now(at)
		created, err = changed(tx.ExecContext(ctx, insertSKU, sku.SKU, sku.Name, sku.Stock, sku.Segments, micros(since),
			microsOrNull(sku.SaleStartsAt), microsOrNull(sku.SaleEndsAt), sku.PerBuyerLimit, sku.MaxQuantity, sku.MaxReserveFor.Microseconds()))
		if err != nil {
			return err
		}
		if !created {
			return tables.CheckReplay(ctx, tx, sku)
		}
		if err := sku.CheckWindow(since); err != nil {
			return err
		}
		for segment, units := range stock.Spread(sku.Stock, sku.Segments) {
			if _, err := tx.ExecContext(ctx, insertSegment, sku.SKU, segment, units); err != nil {
				return err
			}
		}
		return nil
	})
	return created && err == nil, err
}

// Of the SKUs in the JSON array $1, a row for each segment.
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
	}, selectViews, list(skus))
}
