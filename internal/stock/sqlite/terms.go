package sqlite

import (
	"context"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

const updateProfile = `
UPDATE skus SET name = $2, sale_starts_at = $3, sale_ends_at = $4, per_buyer_limit = nullif($5, 0),
                max_quantity = nullif($6, 0), max_reserve_us = nullif($7, 0)
WHERE sku_id = $1`

// A buyer who holds more than the limit keeps it.
const countAll = `
INSERT INTO buyers (sku_id, buyer_id, units, most)
SELECT $1, buyer_id, sum(quantity), max(sum(quantity), $2)
FROM deductions WHERE sku_id = $1 AND buyer_id IS NOT NULL AND (status = 'reserved' OR status = 'committed')
GROUP BY buyer_id`

const dropCounts = `DELETE FROM buyers WHERE sku_id = $1`

// changeTerms changes what a SKU is called and its terms.
func changeTerms(ctx context.Context, tx *transaction, m stock.Movement) error {
	now, counts, err := tables.Reterm(ctx, tx, m)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, updateProfile, m.SKU, now.Name, microsOrNull(now.SaleStartsAt), microsOrNull(now.SaleEndsAt),
		now.PerBuyerLimit, now.MaxQuantity, now.MaxReserveFor.Microseconds())
	switch {
	case err != nil:
	case counts == stock.CountAll:
		_, err = tx.ExecContext(ctx, countAll, m.SKU, now.PerBuyerLimit)
	case counts == stock.DropCounts:
		_, err = tx.ExecContext(ctx, dropCounts, m.SKU)
	}
	return err
}
