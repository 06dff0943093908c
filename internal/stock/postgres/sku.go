package postgres

import (
	"context"
	"slices"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

const insertSKU = `
INSERT INTO skus (sku_id, name, initial, segments, created_at, sale_starts_at, sale_ends_at, per_buyer_limit, max_quantity,
                  max_reserve_us)
VALUES ($1, $2, $3, $4, coalesce($5::timestamptz, clock_timestamp()), $6, $7, nullif($8::bigint, 0), nullif($9::integer, 0),
        nullif($10::bigint, 0))
ON CONFLICT (sku_id) DO NOTHING
RETURNING created_at`

const insertSegments = `
INSERT INTO stock_segments (sku_id, segment, available)
SELECT $1, n - 1, a FROM unnest($2::bigint[]) WITH ORDINALITY AS spread (a, n)`

// CreateSKU implements [stock.Store].
func (s *Store) CreateSKU(ctx context.Context, sku stock.NewSKU, at time.Time) (created bool, err error) {
	err = s.inTx(ctx, time.Time{}, func(tx transaction) error {
		var since time.Time
		created, err = tables.One(ctx, tx, []any{&since}, insertSKU, sku.SKU, sku.Name, sku.Stock, sku.Segments, instant(at),
			instant(sku.SaleStartsAt), instant(sku.SaleEndsAt), sku.PerBuyerLimit, sku.MaxQuantity, sku.MaxReserveFor.Microseconds())
		if err != nil {
			return err
		}
		if !created {
			return tables.CheckReplay(ctx, tx, sku)
		}
		if err := sku.CheckWindow(since); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, insertSegments, sku.SKU, stock.Spread(sku.Stock, sku.Segments))
		return err
	})
	return created && err == nil, err
}

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
       (SELECT expires_at FROM deductions d WHERE d.sku_id = k.sku_id AND d.status = 'reserved' ORDER BY expires_at LIMIT 1)
FROM skus k WHERE k.sku_id = ANY ($1::text[])`

// look reads what is known of some SKUs.
func (s *Store) look(ctx context.Context, skus ...string) (map[string]stock.View, error) {
	views := make(map[string]stock.View, len(skus))
	return views, s.pool.Each(ctx, readViews(views), selectViews, skus)
}

// readViews reads the rows of a look.
func readViews(views map[string]stock.View) func(tables.Row) error {
	return func(row tables.Row) error {
		var sku string
		var view stock.View
		err := row.Scan(slices.Concat(
			[]any{&sku}, tables.Terms(&view.Terms), []any{&view.Layout, &view.Segments, (*tables.Time)(&view.NextExpiry)})...)
		views[sku] = view
		return err
	}
}
