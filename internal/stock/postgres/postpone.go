package postgres

import (
	"context"
	"slices"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// waitedLong is how old the instant of a decision may be when its last row is written. It is as long as deduct.sql and
// deduct_limited.sql wait.
const waitedLong = 100 * time.Millisecond

// A statement for each deduction is one that Citus routes as well.
const postponeReserved = `UPDATE deductions SET created_at = $3, expires_at = $4 WHERE sku_id = $1 AND order_id = $2`

// postpone makes up for what a transaction has waited for since its decision: buyers' rows, and order ids that somebody else had
// inserted. What it has reserved lasts as long as was asked from now on, when it has all of its rows. given is the instant to
// decide by; it is not moved.
func (t transaction) postpone(ctx context.Context, given time.Time, taken []*stock.Deduction) error {
	reserved := slices.DeleteFunc(taken, func(d *stock.Deduction) bool { return d.Status != stock.StatusReserved })
	if len(reserved) == 0 || !given.IsZero() {
		return nil
	}
	if _, now := t.clock.between(time.Now()); now.Sub(reserved[0].ExpiresAt.Add(-reserved[0].ReserveFor)) < waitedLong {
		return nil
	}
	var since time.Time
	look, write := &tables.Statements{}, &tables.Statements{}
	t.Instant(look, given, &since)
	if err := t.Send(ctx, look); err != nil {
		return err
	}
	for _, d := range reserved {
		d.ExpiresAt = since.Add(d.ReserveFor)
		write.Exec(postponeReserved, d.SKU, d.OrderID, since, d.ExpiresAt)
	}
	return t.Send(ctx, write)
}
