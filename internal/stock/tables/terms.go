package tables

import (
	"context"

	"inventory/internal/stock"
)

// TermsColumns are the columns of the terms of a SKU k.
const TermsColumns = `k.sale_starts_at, k.sale_ends_at, coalesce(k.per_buyer_limit, 0), coalesce(k.max_quantity, 0),
       coalesce(k.max_reserve_us, 0), k.archived_at`

// Terms returns where to scan the [TermsColumns].
func Terms(t *stock.Terms) []any {
	return []any{
		(*Time)(&t.SaleStartsAt), (*Time)(&t.SaleEndsAt), &t.PerBuyerLimit, &t.MaxQuantity, (*Micros)(&t.MaxReserveFor),
		(*Time)(&t.ArchivedAt),
	}
}

// What changes the terms of a SKU. A buyer who holds more than the limit keeps it.
const (
	SelectProfile = `SELECT k.name, ` + TermsColumns + ` FROM skus k WHERE k.sku_id = $1`

	UpdateProfile = `
UPDATE skus SET name = $2, sale_starts_at = $3, sale_ends_at = $4, per_buyer_limit = nullif($5::bigint, 0),
                max_quantity = nullif($6::integer, 0), max_reserve_us = nullif($7::bigint, 0)
WHERE sku_id = $1`

	CountAll = `
INSERT INTO buyers (sku_id, buyer_id, units, most)
SELECT $1, buyer_id, sum(quantity), greatest(sum(quantity), $2)
FROM deductions WHERE sku_id = $1 AND buyer_id IS NOT NULL AND (status = 'reserved' OR status = 'committed')
GROUP BY buyer_id`

	DropCounts = `DELETE FROM buyers WHERE sku_id = $1`
)

// changeTerms changes the name and the terms of a SKU. While the rows of all segments are locked, no other transaction takes or
// gives back units of the SKU, so what buyers hold does not change.
func changeTerms(ctx context.Context, q Querier, write *Statements, m stock.Movement) error {
	var there stock.Profile
	if err := Single(ctx, q, append([]any{&there.Name}, Terms(&there.Terms)...), SelectProfile, m.SKU); err != nil {
		return err
	}
	now, counts, err := m.Terms.On(there)
	if err != nil {
		return err
	}
	write.Exec(UpdateProfile, m.SKU, now.Name, Instant(now.SaleStartsAt), Instant(now.SaleEndsAt), now.PerBuyerLimit,
		now.MaxQuantity, now.MaxReserveFor.Microseconds())
	switch counts {
	case stock.CountAll:
		write.Exec(CountAll, m.SKU, now.PerBuyerLimit)
	case stock.DropCounts:
		write.Exec(DropCounts, m.SKU)
	}
	return nil
}
