package tables

import (
	"context"

	"inventory/internal/stock"
)

// TermsColumns are those of the terms of a SKU k.
const TermsColumns = `k.sale_starts_at, k.sale_ends_at, coalesce(k.per_buyer_limit, 0), coalesce(k.max_quantity, 0),
       coalesce(k.max_reserve_us, 0), k.archived_at`

// Terms returns where to scan the [TermsColumns].
func Terms(t *stock.Terms) []any {
	return []any{
		(*Time)(&t.SaleStartsAt), (*Time)(&t.SaleEndsAt), &t.PerBuyerLimit, &t.MaxQuantity, (*Micros)(&t.MaxReserveFor),
		(*Time)(&t.ArchivedAt),
	}
}

// CheckReplay holds a SKU that is there already to the one that is to be created.
func CheckReplay(ctx context.Context, q Querier, sku stock.NewSKU) error {
	there := stock.NewSKU{SKU: sku.SKU}
	columns := append([]any{&there.Name, &there.Stock, &there.Segments}, Terms(&there.Terms)...)
	err := Single(ctx, q, columns, `SELECT k.name, k.initial, k.segments, `+TermsColumns+` FROM skus k WHERE k.sku_id = $1`, sku.SKU)
	if err != nil {
		return err
	}
	return sku.CheckReplay(there)
}

// SelectProfile is for [Reterm].
const SelectProfile = `SELECT k.name, ` + TermsColumns + ` FROM skus k WHERE k.sku_id = $1`

// Reterm reads what a SKU is called and its terms, and returns what a movement makes of them.
func Reterm(ctx context.Context, q Querier, m stock.Movement) (after stock.Profile, counts stock.BuyerCount, err error) {
	var there stock.Profile
	if err = Single(ctx, q, append([]any{&there.Name}, Terms(&there.Terms)...), SelectProfile, m.SKU); err != nil {
		return after, counts, err
	}
	return m.Terms.On(there)
}
