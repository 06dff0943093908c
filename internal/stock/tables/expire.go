package tables

import (
	"context"
	"time"

	"inventory/internal/stock"
)

// HasExpired reads whether reservations of a SKU have expired whose units are not back.
const HasExpired = `
SELECT EXISTS (
    SELECT 1 FROM deductions
    WHERE sku_id = $1 AND status = 'reserved' AND expires_at <= (SELECT coalesce($2::timestamptz, clock_timestamp())))`

// SelectNextExpiry reads the first entry of the index; null: there is none. For min(), a planner of PostgreSQL that expects one row
// would read all of them.
const SelectNextExpiry = `
SELECT (SELECT expires_at FROM deductions WHERE sku_id = $1 AND status = 'reserved' ORDER BY expires_at LIMIT 1)`

// SelectWithExpired walks through the index of live reservations from SKU to SKU, and reads one of each SKU, the first to
// expire.
const SelectWithExpired = `
WITH RECURSIVE reserving AS (
    SELECT (SELECT sku_id FROM deductions WHERE status = 'reserved' AND sku_id > '' ORDER BY sku_id LIMIT 1) AS sku_id
    UNION ALL
    SELECT (SELECT d.sku_id FROM deductions d WHERE d.status = 'reserved' AND d.sku_id > reserving.sku_id
            ORDER BY d.sku_id LIMIT 1)
    FROM reserving WHERE reserving.sku_id IS NOT NULL
)
SELECT sku_id FROM reserving
WHERE EXISTS (
    SELECT 1 FROM deductions d WHERE d.sku_id = reserving.sku_id AND d.status = 'reserved'
      AND d.expires_at <= (SELECT coalesce($1::timestamptz, clock_timestamp())))
LIMIT $2`

// Expired implements [stock.Store].
func (b Base) Expired(ctx context.Context, at time.Time, limit int) ([]string, error) {
	return All(ctx, b.DB, Value[string], SelectWithExpired, At(at), limit)
}

// Expire implements [stock.Store].
func (b Base) Expire(ctx context.Context, sku string, at time.Time) (reservations int, err error) {
	for {
		var due bool // read without locks: another process may have given the units back already
		if err := Single(ctx, b.DB, []any{&due}, HasExpired, sku, At(at)); err != nil || !due {
			return reservations, err
		}
		n, err := b.expireSome(ctx, sku, at)
		reservations += n
		if err != nil || n < stock.ExpireLimit {
			return reservations, err
		}
	}
}

func (b Base) expireSome(ctx context.Context, sku string, at time.Time) (reservations int, err error) {
	err = b.InTx(ctx, time.Time{}, func(tx Tx) error {
		statements, told := &Statements{}, &Statements{}
		statements.LockAll(sku)
		back := tx.Expire(statements, sku, at)
		if err := tx.Send(ctx, statements); err != nil {
			return err
		}
		if reservations = back.Reservations; reservations > 0 {
			tx.Notify(told, sku)
		}
		return tx.Send(ctx, told)
	})
	return reservations, err
}
