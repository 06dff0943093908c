package stocktest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"inventory/internal/stock"
)

// testSummaries reads all SKUs in pages, and holds each to its status.
func testSummaries(t *testing.T, k *kit) {
	if page, err := k.store.Summaries(t.Context(), "", 10); err != nil || len(page) != 0 {
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
			page, err := k.store.Summaries(t.Context(), after, limit)
			if err != nil || len(page) > limit {
				t.Fatalf("%d in a page of %d, %v", len(page), limit, err)
			}
			for _, summary := range page {
				k.isStatus(summary)
				after, read = summary.SKU, append(read, summary.SKU)
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

// isStatus holds a summary to what is read of its SKU alone.
func (k *kit) isStatus(got stock.Summary) {
	k.Helper()
	status, err := k.store.Status(k.Context(), got.SKU, at)
	if err != nil {
		k.Fatal(err)
	}
	want := stock.Summary{
		SKU: status.SKU, Name: status.Name, Stock: status.Stock, Terms: status.Terms, Layout: status.Layout,
		Available: status.Available, Reserved: status.Reserved, Committed: status.Committed, Segments: len(status.Segments),
	}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		k.Errorf("summary\n%+v, status\n%+v", got, want)
	}
}
