package stocktest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"inventory/internal/stock"
)

// testStatuses reads all SKUs in pages, and holds each to its status.
func testStatuses(t *testing.T, k *kit) {
	if page, err := k.store.Statuses(t.Context(), "", 10); err != nil || len(page) != 0 {
		t.Fatalf("before any SKU: %+v, %v", page, err)
	}
	k.create(30, 3)
	names := []string{"B", "_", "a", "a-b", "a.b", "z", sku}
	for i, name := range names[:len(names)-1] {
		other := stock.NewSKU{SKU: name, Name: "the " + name, Stock: int64(i), Segments: i + 1, Terms: stock.Terms{
			SaleEndsAt: at.Add(time.Hour), MaxQuantity: 7, MaxReserveFor: time.Minute,
		}}
		if _, err := k.store.CreateSKU(t.Context(), other, at); err != nil {
			t.Fatal(err)
		}
	}
	kept, back := order("kept", 4), order("back", 2)
	kept.ReserveFor, back.ReserveFor = time.Hour, time.Minute
	k.deduct(1, stock.Fence{}, order("a", 3), kept, back)
	if _, err := k.store.Settle(t.Context(), stock.Settlement{SKU: sku, At: at, Requests: []stock.SettleRequest{{OrderID: "kept", Quantity: 1}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := k.store.Move(t.Context(), restock(sku, "r", 5)); err != nil {
		t.Fatal(err)
	}
	slices.Sort(names) // by bytes
	for limit := 1; limit <= len(names)+1; limit++ {
		after, read := "", []string(nil)
		for {
			page, err := k.store.Statuses(t.Context(), after, limit)
			if err != nil || len(page) > limit {
				t.Fatalf("%d in a page of %d, %v", len(page), limit, err)
			}
			for _, status := range page {
				k.isStatus(status)
				after, read = status.SKU, append(read, status.SKU)
			}
			if len(page) < limit {
				break
			}
		}
		if !slices.Equal(read, names) {
			t.Errorf("in pages of %d: %q, want %q", limit, read, names)
		}
	}
}

// isStatus holds a SKU of a list to what is read of it alone.
func (k *kit) isStatus(got stock.Status) {
	k.Helper()
	want, err := k.store.Status(k.Context(), got.SKU, time.Time{})
	if err != nil {
		k.Fatal(err)
	}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		k.Errorf("in the list\n%+v, alone\n%+v", got, want)
	}
}
