package sqlite

import (
	"context"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// A SKU without a limit has no such rows.
const lowerUnits = `UPDATE buyers SET units = units - $3 WHERE sku_id = $1 AND buyer_id = $2`

const hasBuyers = `SELECT EXISTS (SELECT 1 FROM buyers WHERE sku_id = $1)`

// giveBack carries out returns. It writes without a lock, so it leaves the fences as they are.
func (s *Store) giveBack(ctx context.Context, tx *transaction, sku string, back stock.Returns) error {
	segments, buyers := back.Ascending()
	for _, segment := range segments {
		if err := s.change(ctx, tx, sku, segment, back.Segments[segment], -back.Reserved[segment], stock.Fence{}); err != nil {
			return err
		}
	}
	if len(buyers) == 0 {
		return nil
	}
	var counted bool
	if err := tables.Single(ctx, tx, []any{&counted}, hasBuyers, sku); err != nil || !counted {
		return err
	}
	for _, buyer := range buyers {
		if _, err := tx.ExecContext(ctx, lowerUnits, sku, buyer, back.Buyers[buyer]); err != nil {
			return err
		}
	}
	return nil
}
