package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

const updateProfile = `
UPDATE skus SET name = $2, sale_starts_at = $3, sale_ends_at = $4, per_buyer_limit = nullif($5::bigint, 0),
                max_quantity = nullif($6::integer, 0), max_reserve_us = nullif($7::bigint, 0)
WHERE sku_id = $1`

// A buyer who holds more than the limit keeps it.
const countAll = `
INSERT INTO buyers (sku_id, buyer_id, units, most)
SELECT $1, buyer_id, sum(quantity), greatest(sum(quantity), $2)
FROM deductions WHERE sku_id = $1 AND buyer_id IS NOT NULL AND status IN ('reserved', 'committed')
GROUP BY buyer_id`

const dropCounts = `DELETE FROM buyers WHERE sku_id = $1`

// changeTerms changes what a SKU is called and its terms. While the rows of all segments are locked, nobody takes units of the
// SKU or gives any back, so what buyers hold stands still.
func changeTerms(ctx context.Context, tx transaction, write *pgx.Batch, m stock.Movement) error {
	now, counts, err := tables.Reterm(ctx, tx, m)
	if err != nil {
		return err
	}
	write.Queue(updateProfile, m.SKU, now.Name, instant(now.SaleStartsAt), instant(now.SaleEndsAt), now.PerBuyerLimit,
		now.MaxQuantity, now.MaxReserveFor.Microseconds())
	switch counts {
	case stock.CountAll:
		write.Queue(countAll, m.SKU, now.PerBuyerLimit)
	case stock.DropCounts:
		write.Queue(dropCounts, m.SKU)
	}
	return nil
}
