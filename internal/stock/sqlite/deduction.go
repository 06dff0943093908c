package sqlite

import (
	"context"
	"fmt"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// insertDeduction is the one list of the columns of a new deduction, and values are what it inserts: the segment is null
// where several gave, and what says when a reservation expires is null for others. The texts come last.
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

// $2 is a JSON array of order ids.
var selectByIDs = `
SELECT` + tables.DeductionColumns + `
FROM deductions d WHERE d.sku_id = $1 AND d.order_id IN (SELECT value FROM json_each($2))`

// Deductions implements [stock.Store].
func (s *Store) Deductions(ctx context.Context, sku string, orderIDs []string) (map[string]stock.Deduction, error) {
	return readByIDs(ctx, s.reader, sku, orderIDs)
}

// readByIDs returns the deductions that order ids have, without their parts.
func readByIDs(ctx context.Context, q tables.Querier, sku string, orderIDs []string) (map[string]stock.Deduction, error) {
	found := make(map[string]stock.Deduction, len(orderIDs))
	return found, q.Each(ctx, tables.DeductionsByID(found), selectByIDs, sku, list(orderIDs))
}

// Deduction implements [stock.Store].
func (s *Store) Deduction(ctx context.Context, sku, orderID string) (stock.Deduction, error) {
	return tables.OneDeduction(ctx, s.reader, sku, orderID)
}

// DeductionPage implements [stock.Store].
func (s *Store) DeductionPage(ctx context.Context, query stock.DeductionQuery) (stock.DeductionPage, error) {
	return tables.Page(ctx, s.reader, query)
}
