package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"inventory/internal/stock"
)

// $2 is a JSON array of order ids: SQLite has no arrays.
const selectByIDs = `
SELECT order_id, coalesce(buyer_id, ''), quantity, status
FROM deductions WHERE sku_id = $1 AND order_id IN (SELECT value FROM json_each($2))`

func selectDeductions(ctx context.Context, q querier, sku string, orderIDs []string) (map[string]stock.Deduction, error) {
	list, err := json.Marshal(orderIDs)
	if err != nil {
		return nil, err
	}
	found := make(map[string]stock.Deduction)
	err = eachRow(ctx, q, func(rows *sql.Rows) error {
		d := stock.Deduction{SKU: sku}
		err := rows.Scan(&d.OrderID, &d.BuyerID, &d.Quantity, &d.Status)
		found[d.OrderID] = d
		return err
	}, selectByIDs, sku, string(list))
	return found, err
}

// Deductions implements [stock.Store].
func (s *Store) Deductions(ctx context.Context, sku string, orderIDs []string) (map[string]stock.Deduction, error) {
	return selectDeductions(ctx, s.reader, sku, orderIDs)
}

const selectDeduction = `
SELECT coalesce(d.buyer_id, ''), d.quantity, d.status, coalesce(d.segment, p.segment), coalesce(p.quantity, d.quantity)
FROM deductions d LEFT JOIN deduction_parts p USING (sku_id, order_id)
WHERE d.sku_id = $1 AND d.order_id = $2
ORDER BY p.segment`

// Deduction implements [stock.Store].
func (s *Store) Deduction(ctx context.Context, sku, orderID string) (stock.Deduction, error) {
	d := stock.Deduction{SKU: sku, OrderID: orderID}
	err := s.each(ctx, func(rows *sql.Rows) error {
		var part stock.Part
		err := rows.Scan(&d.BuyerID, &d.Quantity, &d.Status, &part.Segment, &part.Quantity)
		d.Parts = append(d.Parts, part)
		return err
	}, selectDeduction, sku, orderID)
	if err != nil {
		return stock.Deduction{}, err
	}
	if d.Parts == nil {
		return stock.Deduction{}, s.whyNoDeduction(ctx, sku, orderID)
	}
	return d, nil
}

func (s *Store) whyNoDeduction(ctx context.Context, sku, orderID string) error {
	if _, err := s.Segments(ctx, sku); err != nil {
		return err
	}
	return stock.UnknownDeduction(sku, orderID)
}
