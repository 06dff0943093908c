package sqlite

import (
	"context"
	"database/sql"
	"time"

	"inventory/internal/stock"
)

// Expire implements [stock.Store].
func (s *Store) Expire(ctx context.Context, sku string, at time.Time) (reservations int, err error) {
	err = s.inTx(ctx, func(tx *transaction) error {
		segments, err := readSegments(ctx, tx, sku)
		if err != nil {
			return err
		}
		reservations, err = s.expire(ctx, tx, sku, at, levelsOf(segments))
		return err
	})
	if err != nil {
		return 0, err
	}
	return reservations, nil
}

// Nobody else writes meanwhile, so these are the reservations that were read.
const endExpired = `
UPDATE deductions SET status = 'expired' WHERE sku_id = $1 AND status = 'reserved' AND expires_at <= $2`

// expire gives back the units of the reservations that have expired, and adds them to levels.
func (s *Store) expire(ctx context.Context, tx *transaction, sku string, at time.Time, levels []int64) (reservations int, err error) {
	expired, err := readExpired(ctx, tx, sku, at)
	if err != nil || len(expired) == 0 {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, endExpired, sku, micros(at)); err != nil {
		return 0, err
	}
	back := stock.PlanExpiry(expired, len(levels))
	for segment, units := range back.Segments {
		levels[segment] += units
	}
	return len(expired), s.giveBack(ctx, tx, sku, back)
}

// In the order of the index: by order id alone, SQLite would go through all deductions of the SKU.
const selectExpired = selectParts + `
WHERE d.sku_id = $1 AND d.status = 'reserved' AND d.expires_at <= $2
ORDER BY d.expires_at, d.order_id, p.segment`

// readExpired returns the reservations that have expired and hold units still.
func readExpired(ctx context.Context, q querier, sku string, at time.Time) ([]stock.Deduction, error) {
	return readParts(ctx, q, selectExpired, sku, micros(at))
}

const existsExpired = `
SELECT EXISTS (SELECT 1 FROM deductions WHERE sku_id = $1 AND status = 'reserved' AND expires_at <= $2)`

// hasExpired tells whether there are any.
func hasExpired(ctx context.Context, tx *transaction, sku string, at time.Time) (has bool, err error) {
	err = tx.QueryRowContext(ctx, existsExpired, sku, micros(at)).Scan(&has)
	return has, err
}

const selectNextExpiry = `SELECT min(expires_at) FROM deductions WHERE sku_id = $1 AND status = 'reserved'`

// nextExpiry is the earliest expiry of the reservations that are not settled, the zero time where there are none.
func nextExpiry(ctx context.Context, tx *transaction, sku string) (time.Time, error) {
	var next sql.NullInt64
	err := tx.QueryRowContext(ctx, selectNextExpiry, sku).Scan(&next)
	return timeOrZero(next), err
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
func (s *Store) Expired(ctx context.Context, at time.Time, limit int) (skus []string, err error) {
	err = s.each(ctx, func(rows *sql.Rows) error {
		var sku string
		err := rows.Scan(&sku)
		skus = append(skus, sku)
		return err
	}, selectWithExpired, micros(at), limit)
	return skus, err
}
