package postgres

import (
	"context"
	_ "embed"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

//go:embed expire.sql
var expireSQL string

const hasExpired = `
SELECT EXISTS (SELECT FROM deductions WHERE sku_id = $1 AND status = 'reserved' AND expires_at <= (SELECT coalesce($2::timestamptz, clock_timestamp())))`

// It walks through the index of live reservations from SKU to SKU.
const selectExpired = `
WITH RECURSIVE reserved AS (
    (SELECT sku_id FROM deductions WHERE status = 'reserved' ORDER BY sku_id LIMIT 1)
    UNION ALL
    SELECT (SELECT d.sku_id FROM deductions d WHERE d.status = 'reserved' AND d.sku_id > reserved.sku_id
            ORDER BY d.sku_id LIMIT 1)
    FROM reserved WHERE reserved.sku_id IS NOT NULL
)
SELECT sku_id FROM reserved
WHERE EXISTS (
    SELECT FROM deductions d WHERE d.sku_id = reserved.sku_id AND d.status = 'reserved'
      AND d.expires_at <= (SELECT coalesce($1::timestamptz, clock_timestamp())))
LIMIT $2`

// Expire implements [stock.Store].
func (s *Store) Expire(ctx context.Context, sku string, at time.Time) (reservations int, err error) {
	for {
		var due bool // asked without locks: another process may have given the units back already
		if err := tables.Single(ctx, s.pool, []any{&due}, hasExpired, sku, instant(at)); err != nil || !due {
			return reservations, err
		}
		n, err := s.expireSome(ctx, sku, at)
		reservations += n
		if err != nil || n < stock.ExpireLimit {
			return reservations, err
		}
	}
}

func (s *Store) expireSome(ctx context.Context, sku string, at time.Time) (reservations int, err error) {
	err = s.inTx(ctx, time.Time{}, func(tx transaction) error {
		trip := &pgx.Batch{}
		queueLockAll(trip, sku)
		back := queueExpire(trip, sku, at)
		if err := tx.send(ctx, trip); err != nil || back.reservations == 0 {
			return err
		}
		reservations = back.reservations
		_, err := tx.Exec(ctx, notify, sku)
		return err
	})
	return reservations, err
}

// returned is what came back from expired reservations.
type returned struct {
	reservations    int
	segments, units []int64
}

func (r *returned) bySegment() map[int]int64 {
	back := make(map[int]int64, len(r.segments))
	for i, segment := range r.segments {
		back[int(segment)] = r.units[i]
	}
	return back
}

// queueExpire gives back the units of expired reservations. The caller has locked the rows of all segments.
func queueExpire(trip *pgx.Batch, sku string, at time.Time) *returned {
	back := &returned{}
	trip.Queue(expireSQL, sku, instant(at), stock.ExpireLimit).QueryRow(func(row pgx.Row) error {
		return row.Scan(&back.reservations, &back.segments, &back.units)
	})
	return back
}

// Expired implements [stock.Store].
func (s *Store) Expired(ctx context.Context, at time.Time, limit int) ([]string, error) {
	return tables.All(ctx, s.pool, tables.Value[string], selectExpired, instant(at), limit)
}
