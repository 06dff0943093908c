package sqlite

import (
	"context"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

const selectAmendment = `
SELECT coalesce(returned, 0), coalesce(extended_micros, 0) FROM amendments WHERE sku_id = $1 AND order_id = $2 AND ref = $3`

const updateAmended = `
UPDATE deductions
SET quantity = $3, asked = nullif($4, $3), committed = nullif($5, 0), expires_at = $6, reserve_micros = nullif($7, 0)
WHERE sku_id = $1 AND order_id = $2`

const insertAmendment = `
INSERT INTO amendments (sku_id, order_id, ref, returned, extended_micros, created_at)
VALUES ($1, $2, $3, nullif($4, 0), nullif($5, 0), $6)`

// readAmendments reads the amendments that have the refs of requests.
func readAmendments(ctx context.Context, tx *transaction, settlement stock.Settlement) (map[string]stock.Amendment, error) {
	there := make(map[string]stock.Amendment)
	for _, request := range settlement.Requests {
		if !request.Amends() {
			continue
		}
		a := stock.Amendment{OrderID: request.OrderID, Ref: request.Ref}
		columns := []any{&a.Returned, (*tables.Micros)(&a.Extended)}
		found, err := tables.One(ctx, tx, columns, selectAmendment, settlement.SKU, a.OrderID, a.Ref)
		if err != nil {
			return nil, err
		}
		if found {
			there[a.OrderID] = a
		}
	}
	return there, nil
}

// amend writes what was planned of amendments.
func amend(ctx context.Context, tx *transaction, sku string, plan stock.SettlementPlan, at time.Time) error {
	for _, d := range plan.Amended {
		_, err := tx.ExecContext(ctx, updateAmended, sku, d.OrderID, d.Quantity, d.Order.Quantity, d.Committed,
			microsOrNull(d.ExpiresAt), d.ReserveFor.Microseconds())
		if err != nil {
			return err
		}
	}
	for _, a := range plan.Amendments {
		_, err := tx.ExecContext(ctx, insertAmendment, sku, a.OrderID, a.Ref, a.Returned, a.Extended.Microseconds(), micros(at))
		if err != nil {
			return err
		}
	}
	return nil
}
