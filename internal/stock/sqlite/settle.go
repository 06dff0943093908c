package sqlite

import (
	"context"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Settle implements [stock.Store].
func (s *Store) Settle(ctx context.Context, settlement stock.Settlement) (results []stock.Settled, err error) {
	err = s.inShared(ctx, settlement.Deadline, len(settlement.Requests), func(tx *transaction) error {
		segments, err := readSegments(ctx, tx, settlement.SKU)
		if err != nil {
			return err
		}
		there, err := readRequested(ctx, tx, settlement)
		if err != nil {
			return err
		}
		amended, err := readAmendments(ctx, tx, settlement)
		if err != nil {
			return err
		}
		at := now(settlement.At)
		plan := stock.PlanSettlement(settlement, there, amended, at, len(segments))
		results = plan.Results
		for _, d := range plan.Changed {
			_, err := tx.ExecContext(ctx, updateDeduction, d.SKU, d.OrderID, string(d.Status), d.Quantity, d.Order.Quantity)
			if err != nil {
				return err
			}
		}
		for _, d := range plan.Split {
			if _, err := tx.ExecContext(ctx, deleteParts, d.SKU, d.OrderID); err != nil {
				return err
			}
			if err := insertParts(ctx, tx, d, d.Parts); err != nil {
				return err
			}
		}
		if plan.Kept > 0 {
			if _, err := tx.ExecContext(ctx, keepReserved, settlement.SKU, plan.Kept); err != nil {
				return err
			}
		}
		if err := amend(ctx, tx, settlement.SKU, plan, at); err != nil {
			return err
		}
		return s.giveBack(ctx, tx, settlement.SKU, plan.Returns)
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// $2 is a JSON array of order ids.
var selectWithParts = `
SELECT` + tables.PartColumns + `
FROM deductions d LEFT JOIN deduction_parts p USING (sku_id, order_id)
WHERE d.sku_id = $1 AND d.order_id IN (SELECT value FROM json_each($2))
ORDER BY d.order_id, p.segment`

// readRequested reads the deductions that a settlement is about, with their parts.
func readRequested(ctx context.Context, tx *transaction, settlement stock.Settlement) (map[string]stock.Deduction, error) {
	found, err := tables.WithParts(ctx, tx, selectWithParts, settlement.SKU, list(settlement.OrderIDs()))
	by := make(map[string]stock.Deduction, len(found))
	for _, d := range found {
		by[d.OrderID] = d
	}
	return by, err
}

const updateDeduction = `
UPDATE deductions SET status = $3, quantity = $4, asked = nullif($5, $4) WHERE sku_id = $1 AND order_id = $2`

const keepReserved = `UPDATE skus SET kept = kept + $2 WHERE sku_id = $1`

const deleteParts = `DELETE FROM deduction_parts WHERE sku_id = $1 AND order_id = $2`
