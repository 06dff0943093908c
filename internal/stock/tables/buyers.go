package tables

import (
	"context"
	"errors"
	"maps"
	"slices"

	"inventory/internal/stock"
)

// SelectBuyerUnits reads how many units buyers are counted with. Each is looked up by itself, as in [SelectByIDs].
const SelectBuyerUnits = `
SELECT n.buyer_id, n.units
FROM unnest($2::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM buyers WHERE sku_id = $1 AND buyer_id = asked.id OFFSET 0) AS n`

// SelectUnitsOfBuyer is for [Base.BuyerUnits].
const SelectUnitsOfBuyer = `
SELECT n.sku_id, n.units
FROM unnest($2::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM buyers WHERE sku_id = asked.id AND buyer_id = $1 OFFSET 0) AS n`

// BuyerUnits implements [stock.Store].
func (b Base) BuyerUnits(ctx context.Context, buyerID string, skus []string) (map[string]int64, error) {
	held := make(map[string]int64)
	return held, b.DB.Each(ctx, Into(held), SelectUnitsOfBuyer, buyerID, skus)
}

// CountBuyers waits for another transaction that writes a buyer's row, and adds to what it finds then. A buyer who would be
// above the limit is left out.
const CountBuyers = `
INSERT INTO buyers AS n (sku_id, buyer_id, units, most)
SELECT $1, b, q, $4::bigint FROM unnest($2::text[], $3::bigint[]) AS asked (b, q) WHERE q <= $4
ORDER BY b COLLATE "C"
ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = n.units + excluded.units, most = excluded.most
    WHERE n.units + excluded.units <= excluded.most`

// UncountBuyers is for SKUs with a buyer limit: others have no rows of buyers. The rows are locked, so each still has the ctid
// under which it was found.
const UncountBuyers = `
UPDATE buyers AS n SET units = n.units - back.units
FROM unnest($2::text[], $3::bigint[]) AS back (buyer_id, units)
WHERE n.ctid = (SELECT ctid FROM buyers WHERE sku_id = $1 AND buyer_id = back.buyer_id)`

// ErrRaced rolls back a transaction that has decided from data that changed meanwhile. Then the transaction restarts. This
// ends: each time another transaction has committed something.
var ErrRaced = errors.New("another transaction was faster")

// AllOf expects that many written rows; any other number is a race.
func AllOf(rows int) func(int64) error {
	return func(written int64) error {
		if written != int64(rows) {
			return ErrRaced
		}
		return nil
	}
}

// Count adds orders to the counts of their buyers, if there is a limit. If it cannot do so for all of them, that is a race.
func (s *Statements) Count(sku string, limit int64, orders []stock.Order) {
	counts := make(map[string]int64, len(orders))
	for _, o := range orders {
		if o.BuyerID != "" {
			counts[o.BuyerID] += o.Quantity
		}
	}
	if limit > 0 && len(counts) > 0 {
		buyers, units := columnsOf(counts)
		s.Exec(CountBuyers, sku, buyers, units, limit).Wrote = AllOf(len(buyers))
	}
}

// GiveBack gives units back to segments and buyers, whose rows are locked.
func (s *Statements) GiveBack(sku string, back stock.Returns) {
	var returned Changes // written without a lock's fence
	for segment, units := range back.Segments {
		returned.Add(segment, units, -back.Reserved[segment], stock.Fence{})
	}
	s.Change(sku, returned)
	if len(back.Buyers) > 0 {
		buyers, units := columnsOf(back.Buyers)
		s.Exec(UncountBuyers, sku, buyers, units)
	}
}

// columnsOf splits a map into two columns, ascending by key.
func columnsOf(units map[string]int64) (keys []string, column []int64) {
	for _, key := range slices.Sorted(maps.Keys(units)) {
		keys = append(keys, key)
		column = append(column, units[key])
	}
	return keys, column
}
