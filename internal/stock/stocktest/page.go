package stocktest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"inventory/internal/stock"
)

// lastID is an id that no other one in its namespace is above.
var lastID = strings.Repeat("\U0010FFFF", 32)

// testDeductionPages reads the deductions of a SKU in pages, all of them and those of a buyer or a status.
func testDeductionPages(t *testing.T, k *kit) {
	if _, err := k.store.DeductionPage(t.Context(), stock.DeductionQuery{SKU: sku, Limit: 1, Scan: 9}); stock.CodeOf(err) != stock.CodeUnknownSKU {
		t.Errorf("of no SKU: %v", err)
	}
	k.create(100, 2)
	k.other("z", 5)
	own := order(stock.OrderKey("ann", "c"), 2)
	own.BuyerID = "ann"
	a, b := order("a", 1), reserved("b", 2, time.Hour)
	a.BuyerID, b.BuyerID = "ann", "bob"
	k.deduct(0, stock.Fence{}, a, b, own, order("ü", 3), order(lastID, 1))
	k.merge(nil, order("B", 70))
	k.settled(at, returns("B", "", 0), stock.StatusReturned, 70, 70)
	shop, anns := "", "ann"
	keys := []string{"B", "a", own.OrderID, "b", "ü", lastID}
	alone := make(map[string]string)
	for _, key := range keys {
		d, err := k.store.Deduction(t.Context(), sku, key)
		if err != nil {
			t.Fatal(err)
		}
		d.Parts = nil
		alone[key] = fmt.Sprintf("%+v", d)
	}
	for _, c := range []struct {
		buyer     string
		status    stock.DeductionStatus
		namespace *string
		want      []string
	}{
		{"", "", nil, keys},
		{"ann", "", nil, []string{"a", own.OrderID}},
		{"ann", "", &shop, []string{"a"}},
		{"ann", "", &anns, []string{own.OrderID}},
		{"ann", stock.StatusReserved, &anns, nil},
		{"bob", "", &shop, []string{"b"}},
		{"", stock.StatusReserved, nil, []string{"b"}},
		{"", stock.StatusReturned, nil, []string{"B"}},
		{"", stock.StatusCancelled, nil, nil},
		{"bob", stock.StatusCommitted, nil, nil},
		{"nobody", "", nil, nil},
	} {
		for limit := 1; limit <= len(keys)+1; limit++ {
			for scan := 1; scan <= len(keys)+1; scan++ {
				q := stock.DeductionQuery{SKU: sku, BuyerID: c.buyer, Status: c.status, Namespace: c.namespace, Limit: limit, Scan: scan}
				if read := k.readPages(q, alone); !slices.Equal(read, c.want) {
					t.Errorf("%+v: read %q, want %q", q, read, c.want)
				}
			}
		}
	}
}

// other creates another SKU, and takes a unit of it for an order.
func (k *kit) other(orderID string, units int64) {
	k.Helper()
	if _, err := k.store.CreateSKU(k.Context(), stock.NewSKU{SKU: "other", Stock: units, Segments: 1}, at); err != nil {
		k.Fatal(err)
	}
	batch := k.batch(0, stock.Fence{}, order(orderID, 1))
	batch.SKU, batch.Layout = "other", firstLayout
	if _, err := k.store.Deduct(k.Context(), batch); err != nil {
		k.Fatal(err)
	}
}

// readPages reads page after page, holds each deduction to what was read of it alone, and returns the keys.
func (k *kit) readPages(q stock.DeductionQuery, alone map[string]string) (keys []string) {
	k.Helper()
	for {
		page, err := k.store.DeductionPage(k.Context(), q)
		if err != nil || len(page.Deductions) > q.Limit {
			k.Fatalf("%+v: %d in a page, %v", q, len(page.Deductions), err)
		}
		if namespace, id := stock.SplitOrderKey(page.Next); q.Namespace != nil && page.Next != "" && namespace != *q.Namespace && id != lastID {
			k.Fatalf("%+v: goes on behind %q, which is of another namespace", q, page.Next)
		}
		for _, d := range page.Deductions {
			if got := fmt.Sprintf("%+v", d); got != alone[d.OrderID] {
				k.Fatalf("in a page\n%s, alone\n%s", got, alone[d.OrderID])
			}
			keys = append(keys, d.OrderID)
		}
		if page.Next == "" {
			return keys
		}
		if page.Next <= q.After {
			k.Fatalf("behind %q goes on behind %q", q.After, page.Next)
		}
		q.After = page.Next
	}
}

// testDeductionPagesAreBounded looks for what is not among the first rows.
func testDeductionPagesAreBounded(t *testing.T, k *kit) {
	k.create(100, 1)
	k.deduct(0, stock.Fence{}, append(orders("x", 30), reserved("y", 1, time.Hour))...)
	q := stock.DeductionQuery{SKU: sku, Status: stock.StatusReserved, Limit: 2, Scan: 10}
	for n, want := range []string{"x-009", "x-019", "x-029", ""} {
		page, err := k.store.DeductionPage(t.Context(), q)
		if err != nil || page.Next != want || (len(page.Deductions) == 1) != (n == 3) {
			t.Errorf("page %d: %+v, %v, want to go on behind %q", n, page, err, want)
		}
		q.After = page.Next
	}
	q.Status, q.After = "", ""
	if page, err := k.store.DeductionPage(t.Context(), q); err != nil || len(page.Deductions) != 2 || page.Next != "x-001" {
		t.Errorf("of any status: %+v, %v", page, err)
	}
}
