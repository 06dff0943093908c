package tables

import (
	"context"
	"time"

	"inventory/internal/stock"
)

// SelectSoldOut is for [SoldOut].
const SelectSoldOut = `
SELECT available, version, layout,
       (SELECT expires_at FROM deductions WHERE sku_id = $1 AND status = 'reserved' ORDER BY expires_at LIMIT 1)
FROM stock_segments WHERE sku_id = $1 ORDER BY segment`

// SelectAccepted reads the ids of the orders that were accepted.
const SelectAccepted = `SELECT order_id FROM deductions WHERE sku_id = $1 LIMIT $2`

// SoldOut reads whether a SKU is sold out.
func SoldOut(ctx context.Context, q Querier, sku string) (found stock.SoldOutState, err error) {
	var next Time
	segments, err := All(ctx, q, func(row Row) (s stock.Segment, err error) {
		err = row.Scan(&s.Available, &s.Version, &s.Layout, &next)
		return s, err
	}, SelectSoldOut, sku)
	if err == nil && segments == nil {
		err = stock.UnknownSKU(sku)
	}
	if err != nil {
		return found, err
	}
	found = stock.SoldOutStateOf(segments)
	found.NextExpiry = time.Time(next)
	return found, nil
}
