package tables

import (
	"context"

	"inventory/internal/stock"
)

// SelectOrder is for [Order].
const SelectOrder = `SELECT coalesce(buyer_id, ''), reserve_micros, pruned FROM orders WHERE order_id = $1`

// Order reads an order of several SKUs that is there already, without its lines; nil where there is none.
func Order(ctx context.Context, q Querier, orderID string) (*stock.PlacedOrder, error) {
	var order stock.PlacedOrder
	found, err := One(ctx, q, []any{&order.BuyerID, (*Micros)(&order.ReserveFor), &order.Pruned}, SelectOrder, orderID)
	if err != nil || !found {
		return nil, err
	}
	return &order, nil
}

// SelectLines reads the deductions of an order of several SKUs.
var SelectLines = `
SELECT` + DeductionColumns + `
FROM order_lines l JOIN deductions d USING (sku_id, order_id)
WHERE l.order_id = $1 ORDER BY l.sku_id`

// OrderWithLines is [Order] with its lines, of a store that has them beside it.
func OrderWithLines(ctx context.Context, q Querier, orderID string) (*stock.PlacedOrder, error) {
	order, err := Order(ctx, q, orderID)
	if order != nil {
		order.Lines, err = Deductions(ctx, q, SelectLines, orderID)
	}
	return order, err
}
