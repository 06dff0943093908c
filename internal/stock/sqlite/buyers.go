package sqlite

import (
	"context"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// $2 is a JSON array of buyer ids.
const selectUnits = `
SELECT buyer_id, units FROM buyers WHERE sku_id = $1 AND buyer_id IN (SELECT value FROM json_each($2))`

// readUnits returns what each of some buyers holds; one who never bought is missing.
func (s *Store) readUnits(ctx context.Context, tx *transaction, sku string, buyers []string) (map[string]int64, error) {
	units := make(map[string]int64)
	return units, tx.Each(ctx, tables.Into(units), selectUnits, sku, list(buyers))
}

// $2 is a JSON array of SKUs.
const selectHeld = `
SELECT sku_id, units FROM buyers WHERE buyer_id = $1 AND sku_id IN (SELECT value FROM json_each($2))`

// BuyerUnits implements [stock.Store].
func (s *Store) BuyerUnits(ctx context.Context, buyerID string, skus []string) (map[string]int64, error) {
	held := make(map[string]int64)
	return held, s.reader.Each(ctx, tables.Into(held), selectHeld, buyerID, list(skus))
}

const addUnits = `
INSERT INTO buyers (sku_id, buyer_id, units, most) VALUES ($1, $2, $3, $4)
ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = units + excluded.units, most = excluded.most`

// countUnits adds what an order took to what its buyer holds, where there is a limit.
func (s *Store) countUnits(ctx context.Context, tx *transaction, sku string, o stock.Order, limit int64) error {
	if limit == 0 || o.BuyerID == "" {
		return nil
	}
	_, err := tx.ExecContext(ctx, addUnits, sku, o.BuyerID, o.Quantity, limit)
	return err
}
