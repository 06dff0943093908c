package migrations_test

import (
	"testing"
	"time"

	"inventory/internal/stock"
)

// TestDeductionsFromBeforeAreMarked: the lines of an order that was taken before deductions knew of their order are not settled
// singly either, and what was taken under a buyer limit is named by its refusals.
func TestDeductionsFromBeforeAreMarked(t *testing.T) {
	t.Parallel()
	onBoth(t, func(u undoable) {
		u.up()
		order := stock.Placement{At: dayAt, Order: stock.MultiOrder{OrderID: "basket", ReserveFor: time.Hour}}
		u.with(func(store stock.Store) {
			for _, sku := range []string{"a", "b"} {
				if _, err := store.CreateSKU(u.t.Context(), stock.NewSKU{SKU: sku, Stock: 5, Segments: 1}, dayAt); err != nil {
					u.t.Fatal(err)
				}
				order.Order.Lines = append(order.Order.Lines, stock.Line{SKU: sku, Quantity: 1})
				order.Lines = append(order.Lines, stock.Batch{Layout: 1, Segment: -1})
			}
			if _, created, err := store.Order(u.t.Context(), order); err != nil || !created {
				u.t.Fatal(created, err)
			}
			if _, err := store.CreateSKU(u.t.Context(), stock.NewSKU{SKU: "limited", Stock: 5, Segments: 1, Terms: stock.Terms{PerBuyerLimit: 2}}, dayAt); err != nil {
				u.t.Fatal(err)
			}
			bought := stock.Batch{SKU: "limited", Layout: 1, Limit: 2, At: dayAt, Orders: []stock.Order{{OrderID: "bought", BuyerID: "ann", Quantity: 1}}}
			if _, err := store.Deduct(u.t.Context(), bought); err != nil {
				u.t.Fatal(err)
			}
			single := stock.Batch{SKU: "a", Layout: 1, At: dayAt, Orders: []stock.Order{{OrderID: "single", Quantity: 1, ReserveFor: time.Hour}}}
			if _, err := store.Merge(u.t.Context(), single); err != nil {
				u.t.Fatal(err)
			}
		})
		undo(u.t, u.open(), "returns") // with the columns that say so
		u.up()
		u.with(func(store stock.Store) {
			for id, want := range map[string]stock.Code{"basket": stock.CodePartOfOrder, "single": ""} {
				settled, err := store.Settle(u.t.Context(), stock.Settlement{SKU: "a", At: dayAt, Requests: []stock.SettleRequest{{OrderID: id}}})
				if err != nil || stock.CodeOf(settled[0].Err) != want {
					u.t.Errorf("commit of %s: got %+v, %v, want code %q", id, settled, err, want)
				}
			}
			if named, err := store.BuyerOrders(u.t.Context(), "limited", "ann", false, 9); err != nil || len(named) != 1 {
				u.t.Errorf("what uses the limit up: got %+v, %v, want one order", named, err)
			}
		})
	})
}
