package sqlite

import (
	"context"
	"strings"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Expire implements [stock.Store].
func (s *Store) Expire(ctx context.Context, sku string, at time.Time) (reservations int, err error) {
	for {
		n, err := s.expireSome(ctx, sku, at)
		reservations += n
		if err != nil || n < stock.ExpireLimit {
			return reservations, err
		}
	}
}

func (s *Store) expireSome(ctx context.Context, sku string, at time.Time) (reservations int, err error) {
	err = s.inTx(ctx, time.Time{}, func(tx *transaction) error {
		segments, err := readSegments(ctx, tx, sku)
		if err != nil {
			return err
		}
		reservations, _, err = s.expire(ctx, tx, sku, now(at), len(segments))
		return err
	})
	if err != nil {
		return 0, err
	}
	return reservations, nil
}

// $2 is a JSON array of order ids.
const endExpired = `
UPDATE deductions SET status = 'expired' WHERE sku_id = $1 AND order_id IN (SELECT value FROM json_each($2))`

// expire gives back the units of reservations that have expired, and tells what each segment got.
func (s *Store) expire(
	ctx context.Context, tx *transaction, sku string, at time.Time, segments int,
) (reservations int, back map[int]int64, err error) {
	expired, err := tables.WithParts(ctx, tx, selectExpired, sku, micros(at), stock.ExpireLimit)
	if err != nil || len(expired) == 0 {
		return 0, nil, err
	}
	ids := stock.Column(expired, func(d stock.Deduction) string { return d.OrderID })
	if _, err := tx.ExecContext(ctx, endExpired, sku, list(ids)); err != nil {
		return 0, nil, err
	}
	returns := stock.PlanExpiry(expired, segments)
	return len(expired), returns.Segments, s.giveBack(ctx, tx, sku, returns)
}

// In the order of the index: by order id alone, SQLite would go through all deductions of the SKU.
var selectExpired = `
SELECT` + strings.ReplaceAll(tables.PartColumns, "d.", "l.") + `
FROM (
    SELECT * FROM deductions WHERE sku_id = $1 AND status = 'reserved' AND expires_at <= $2
    ORDER BY expires_at, order_id LIMIT $3
) l LEFT JOIN deduction_parts p USING (sku_id, order_id)
ORDER BY l.expires_at, l.order_id, p.segment`

const existsExpired = `
SELECT EXISTS (SELECT 1 FROM deductions WHERE sku_id = $1 AND status = 'reserved' AND expires_at <= $2)`

// hasExpired tells whether there are any.
func hasExpired(ctx context.Context, tx *transaction, sku string, at time.Time) (has bool, err error) {
	err = tables.Single(ctx, tx, []any{&has}, existsExpired, sku, micros(at))
	return has, err
}

const selectNextExpiry = `SELECT min(expires_at) FROM deductions WHERE sku_id = $1 AND status = 'reserved'`

// nextExpiry is the earliest expiry of the reservations that are not settled, the zero time where there are none.
func nextExpiry(ctx context.Context, tx *transaction, sku string) (next time.Time, err error) {
	err = tables.Single(ctx, tx, []any{(*tables.Time)(&next)}, selectNextExpiry, sku)
	return next, err
}

// The reservations are in an index by SKU. This goes from SKU to SKU in it, and looks at one reservation of each, the first
// to expire: there may be many more of them, and many more SKUs without any.
const selectWithExpired = `
WITH RECURSIVE reserving (sku_id) AS (
    SELECT min(sku_id) FROM deductions WHERE status = 'reserved'
    UNION ALL
    SELECT (SELECT min(d.sku_id) FROM deductions d WHERE d.status = 'reserved' AND d.sku_id > reserving.sku_id)
    FROM reserving WHERE reserving.sku_id IS NOT NULL
)
SELECT sku_id FROM reserving
WHERE EXISTS (
    SELECT 1 FROM deductions d WHERE d.sku_id = reserving.sku_id AND d.status = 'reserved' AND d.expires_at <= $1)
LIMIT $2`

// Expired implements [stock.Store].
func (s *Store) Expired(ctx context.Context, at time.Time, limit int) ([]string, error) {
	return tables.All(ctx, s.reader, tables.Value[string], selectWithExpired, micros(now(at)), limit)
}
