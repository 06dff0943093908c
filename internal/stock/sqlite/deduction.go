package sqlite

import (
	"fmt"
	"time"

	"inventory/internal/stock"
)

// insertDeduction is the only list of the columns of a new deduction, and values returns what it inserts: the segment is null
// if several gave, and the expiry is null unless it is a reservation. The texts come last.
var insertDeduction = `
INSERT INTO deductions (sku_id, order_id, quantity, segment, expires_at, status, created_at` +
	stock.EachText(func(_ int, column string) string { return ", " + column }) + `)
VALUES ($1, $2, $3, $4, $5, $6, $7` + stock.EachText(func(n int, _ string) string { return fmt.Sprintf(", $%d", 8+n) }) + `)
ON CONFLICT (sku_id, order_id) DO NOTHING`

func values(d *stock.Deduction, segment *int, at time.Time) []any {
	values := []any{d.SKU, d.OrderID, d.Quantity, segment, microsOrNull(d.ExpiresAt), string(d.Status), micros(at)}
	for _, text := range stock.KeptTexts() {
		values = append(values, orNull(*text.Of(&d.Order)))
	}
	return values
}
