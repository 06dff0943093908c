package sqlite

import (
	"context"
	"database/sql"
	"time"

	"inventory/internal/stock"
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
			return sameSKU(ctx, tx, sku)
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

// termsRow is where the columns of a SKU's terms are scanned into.
type termsRow struct {
	terms            stock.Terms
	startsAt, endsAt sql.NullInt64
	archivedAt       sql.NullInt64
	maxReserveUS     int64
}

const termsColumns = `k.sale_starts_at, k.sale_ends_at, coalesce(k.per_buyer_limit, 0), coalesce(k.max_quantity, 0),
       coalesce(k.max_reserve_us, 0), k.archived_at`

func (r *termsRow) columns() []any {
	return []any{&r.startsAt, &r.endsAt, &r.terms.PerBuyerLimit, &r.terms.MaxQuantity, &r.maxReserveUS, &r.archivedAt}
}

func (r *termsRow) read() stock.Terms {
	terms := r.terms
	terms.SaleStartsAt, terms.SaleEndsAt = timeOrZero(r.startsAt), timeOrZero(r.endsAt)
	terms.ArchivedAt = timeOrZero(r.archivedAt)
	terms.MaxReserveFor = time.Duration(r.maxReserveUS) * time.Microsecond
	return terms
}

const selectSKU = `SELECT k.name, k.initial, k.segments, ` + termsColumns + ` FROM skus k WHERE k.sku_id = $1`

func sameSKU(ctx context.Context, tx *transaction, sku stock.NewSKU) error {
	there := stock.NewSKU{SKU: sku.SKU}
	var terms termsRow
	err := tx.QueryRowContext(ctx, selectSKU, sku.SKU).
		Scan(append([]any{&there.Name, &there.Stock, &there.Segments}, terms.columns()...)...)
	if err != nil {
		return err
	}
	there.Terms = terms.read()
	return sku.CheckReplay(there)
}

// exists tells of a SKU that is not there.
func exists(ctx context.Context, q querier, sku string) error {
	found := false
	err := eachRow(ctx, q, func(*sql.Rows) error {
		found = true
		return nil
	}, `SELECT 1 FROM skus WHERE sku_id = $1`, sku)
	if err == nil && !found {
		err = stock.UnknownSKU(sku)
	}
	return err
}

// Of the SKUs in the JSON array $1, a row for each segment.
const selectViews = `
SELECT k.sku_id, g.available, k.layout, CASE g.segment WHEN 0 THEN
    (SELECT min(expires_at) FROM deductions d WHERE d.sku_id = k.sku_id AND d.status = 'reserved') END, ` + termsColumns + `
FROM skus k JOIN stock_segments g USING (sku_id)
WHERE k.sku_id IN (SELECT value FROM json_each($1)) ORDER BY k.sku_id, g.segment`

// Views implements [stock.Store].
func (s *Store) Views(ctx context.Context, skus ...string) (map[string]stock.View, error) {
	views := make(map[string]stock.View, len(skus))
	return views, s.each(ctx, func(rows *sql.Rows) error {
		var sku string
		var available, layout int64
		var until sql.NullInt64 // of the first segment's row
		var terms termsRow
		err := rows.Scan(append([]any{&sku, &available, &layout, &until}, terms.columns()...)...)
		view, again := views[sku]
		if !again {
			view = stock.View{Terms: terms.read(), Layout: layout, NextExpiry: timeOrZero(until)}
		}
		view.Segments = append(view.Segments, available)
		views[sku] = view
		return err
	}, selectViews, list(skus))
}
