package sqlite

import (
	"context"
	"strings"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// endExpired is for the JSON array of order ids $2.
const endExpired = `
UPDATE deductions SET status = 'expired' WHERE sku_id = $1 AND order_id IN (SELECT value FROM json_each($2))`

// In the order of the index: by order id alone, SQLite would go through all deductions of the SKU.
var selectExpired = `
SELECT` + strings.ReplaceAll(tables.PartColumns, "d.", "l.") + `
FROM (
    SELECT * FROM deductions WHERE sku_id = $1 AND status = 'reserved' AND expires_at <= $2
    ORDER BY expires_at, order_id LIMIT $3
) l LEFT JOIN deduction_parts p USING (sku_id, order_id)
ORDER BY l.expires_at, l.order_id, p.segment`

// Expire implements [tables.Tx].
func (t *transaction) Expire(statements *tables.Statements, sku string, at time.Time) *tables.Returned {
	back := &tables.Returned{}
	statements.Exec("").Do = func(ctx context.Context) error {
		segments, err := tables.Segments(ctx, t, sku)
		if err != nil {
			return err
		}
		expired, err := tables.WithParts(ctx, t, selectExpired, sku, tables.At(at), stock.ExpireLimit)
		if err != nil || len(expired) == 0 {
			return err
		}
		returns, write := stock.PlanExpiry(expired, len(segments)), &tables.Statements{}
		back.Reservations, back.Segments = len(expired), returns.Segments
		write.Exec(endExpired, sku, stock.Column(expired, func(d stock.Deduction) string { return d.OrderID }))
		write.GiveBack(sku, returns)
		return t.Send(ctx, write)
	}
	return back
}
