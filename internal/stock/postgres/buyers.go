package postgres

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// As in selectByIDs, each buyer is looked up by itself.
const selectBuyerUnits = `
SELECT n.buyer_id, n.units
FROM unnest($2::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM buyers WHERE sku_id = $1 AND buyer_id = asked.id OFFSET 0) AS n`

const selectUnitsOfBuyer = `
SELECT n.sku_id, n.units
FROM unnest($2::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM buyers WHERE sku_id = asked.id AND buyer_id = $1 OFFSET 0) AS n`

// If another transaction writes a buyer's row, this waits for it and adds to what it finds then. A buyer who would be above
// the limit is left out.
const countBuyers = `
INSERT INTO buyers AS n (sku_id, buyer_id, units, most)
SELECT $1, b, q, $4::bigint FROM unnest($2::text[], $3::bigint[]) AS asked (b, q) WHERE q <= $4
ORDER BY b COLLATE "C"
ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = n.units + excluded.units, most = excluded.most
    WHERE n.units + excluded.units <= excluded.most`

// The buyers are ascending, so the locks are taken in ascending order.
const lockBuyers = `
SELECT FROM unnest($2::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT FROM buyers WHERE sku_id = $1 AND buyer_id = asked.id FOR UPDATE) AS n`

// Only SKUs with a buyer limit have such rows. They are locked, so each still has the ctid under which it was found.
const uncountBuyers = `
UPDATE buyers n SET units = n.units - back.units
FROM unnest($2::text[], $3::bigint[]) AS back (buyer_id, units)
WHERE n.ctid = (SELECT ctid FROM buyers WHERE sku_id = $1 AND buyer_id = back.buyer_id)`

// BuyerUnits implements [stock.Store].
func (s *Store) BuyerUnits(ctx context.Context, buyerID string, skus []string) (map[string]int64, error) {
	held := make(map[string]int64)
	return held, s.pool.Each(ctx, tables.Into(held), selectUnitsOfBuyer, buyerID, skus)
}

// queueCount adds orders to the counts of their buyers. If it cannot do so for all of them, it is a race.
func queueCount(trip *pgx.Batch, sku string, limit int64, orders []stock.Order) {
	counts := make(map[string]int64, len(orders))
	for _, o := range orders {
		counts[o.BuyerID] += o.Quantity
	}
	buyers, units := unitsOf(counts)
	trip.Queue(countBuyers, sku, buyers, units, limit).Exec(allOf(len(buyers)))
}

// unitsOf splits a map into two columns, ascending by key.
func unitsOf(units map[string]int64) (keys []string, column []int64) {
	for _, key := range slices.Sorted(maps.Keys(units)) {
		keys = append(keys, key)
		column = append(column, units[key])
	}
	return keys, column
}
