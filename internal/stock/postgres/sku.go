package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
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
	err = s.inTx(ctx, time.Time{}, func(tx pgx.Tx) error {
		var since time.Time
		err := tx.QueryRow(ctx, insertSKU, sku.SKU, sku.Name, sku.Stock, sku.Segments, instant(at),
			instant(sku.SaleStartsAt), instant(sku.SaleEndsAt), sku.PerBuyerLimit, sku.MaxQuantity, sku.MaxReserveFor.Microseconds()).Scan(&since)
		if created = !errors.Is(err, pgx.ErrNoRows); !created {
			return sameSKU(ctx, tx, sku)
		}
		if err == nil {
			err = sku.CheckWindow(since)
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, insertSegments, sku.SKU, stock.Spread(sku.Stock, sku.Segments))
		return err
	})
	return created && err == nil, err
}

func sameSKU(ctx context.Context, tx pgx.Tx, sku stock.NewSKU) error {
	there := stock.NewSKU{SKU: sku.SKU}
	terms := termsRow{terms: &there.Terms}
	err := tx.QueryRow(ctx, `SELECT k.name, k.initial, k.segments, `+termsColumns+` FROM skus k WHERE k.sku_id = $1`, sku.SKU).
		Scan(append([]any{&there.Name, &there.Stock, &there.Segments}, terms.columns()...)...)
	if err != nil {
		return err
	}
	terms.read()
	return sku.CheckReplay(there)
}

// instant returns a time for a column; null if it is zero.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// timeOf returns the time of a column; zero if it is null.
func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

const termsColumns = `k.sale_starts_at, k.sale_ends_at, coalesce(k.per_buyer_limit, 0), coalesce(k.max_quantity, 0),
       coalesce(k.max_reserve_us, 0), k.archived_at`

// termsRow is where termsColumns are scanned.
type termsRow struct {
	terms        *stock.Terms
	starts, ends *time.Time
	archived     *time.Time
	maxReserveUS int64
}

func (r *termsRow) columns() []any {
	return []any{&r.starts, &r.ends, &r.terms.PerBuyerLimit, &r.terms.MaxQuantity, &r.maxReserveUS, &r.archived}
}

// read completes the terms from what was scanned.
func (r *termsRow) read() {
	r.terms.SaleStartsAt, r.terms.SaleEndsAt = timeOf(r.starts), timeOf(r.ends)
	r.terms.ArchivedAt = timeOf(r.archived)
	r.terms.MaxReserveFor = time.Duration(r.maxReserveUS) * time.Microsecond
}

// skuExists returns nil if the SKU exists, and else its error.
func skuExists(ctx context.Context, q querier, sku string) error {
	var exists bool
	err := q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM skus WHERE sku_id = $1)`, sku).Scan(&exists)
	if err == nil && !exists {
		return stock.UnknownSKU(sku)
	}
	return err
}

const selectViews = `
SELECT k.sku_id, ` + termsColumns + `, k.layout,
       (SELECT array_agg(available ORDER BY segment) FROM stock_segments g WHERE g.sku_id = k.sku_id),
       (SELECT expires_at FROM deductions d WHERE d.sku_id = k.sku_id AND d.status = 'reserved' ORDER BY expires_at LIMIT 1)
FROM skus k WHERE k.sku_id = ANY ($1::text[])`

// look reads what is known of some SKUs.
func (s *Store) look(ctx context.Context, skus ...string) (map[string]stock.View, error) {
	rows, err := s.pool.Query(ctx, selectViews, skus)
	if err != nil {
		return nil, err
	}
	views := make(map[string]stock.View, len(skus))
	return views, readViews(rows, views)
}

// readViews reads the rows of a look.
func readViews(rows pgx.Rows, views map[string]stock.View) error {
	var sku string
	var view stock.View
	var until *time.Time
	terms := termsRow{terms: &view.Terms}
	columns := slices.Concat([]any{&sku}, terms.columns(), []any{&view.Layout, &view.Segments, &until})
	_, err := pgx.ForEachRow(rows, columns, func() error {
		terms.read()
		view.NextExpiry = timeOf(until)
		views[sku] = view
		view.Segments = nil // the next row gets an array of its own
		return nil
	})
	return err
}
