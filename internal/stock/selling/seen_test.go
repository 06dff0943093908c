package selling_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"inventory/internal/stock"
)

// looks counts the looks at the SKUs of orders, and the writes of orders of several SKUs.
type looks struct {
	stock.Store
	views, writes atomic.Int64
}

func (l *looks) Views(ctx context.Context, skus ...string) (map[string]stock.View, error) {
	if len(skus) > 1 { // whether one SKU has units is told to listeners
		l.views.Add(1)
	}
	return l.Store.Views(ctx, skus...)
}

func (l *looks) Order(ctx context.Context, p stock.Placement) ([]stock.Deduction, bool, error) {
	l.writes.Add(1)
	return l.Store.Order(ctx, p)
}

// TestAnOrderOfSeenSKUsIsWrittenAtOnce: only the first one looks, and one that finds something else than was seen.
func TestAnOrderOfSeenSKUsIsWrittenAtOnce(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		store, other := &looks{Store: w.store}, w.start(nil)
		s := w.startOn(store, nil)
		for _, sku := range []string{"a", "b", "c"} {
			if _, _, err := s.CreateSKU(t.Context(), stock.NewSKU{SKU: sku, Stock: 60, Segments: 3}); err != nil {
				t.Fatal(err)
			}
		}
		wants := func(what, id string, units int64, created bool, code stock.Code, views, writes int64) {
			t.Helper()
			store.views.Store(0)
			store.writes.Store(0)
			_, got, err := s.Order(t.Context(), stock.MultiOrder{OrderID: id, Lines: []stock.Line{{SKU: "a", Quantity: 1}, {SKU: "b", Quantity: units}}})
			if got != created || stock.CodeOf(err) != code || store.views.Load() != views || store.writes.Load() != writes {
				t.Errorf("%s: got created %t, %v after %d looks and %d writes, want %t, %q after %d and %d",
					what, got, err, store.views.Load(), store.writes.Load(), created, code, views, writes)
			}
		}
		wants("the first one", "0", 1, true, "", 1, 1)
		for n := range 9 {
			wants("of seen SKUs", fmt.Sprint(1+n), 1, true, "", 0, 1)
		}
		wants("once more", "9", 1, false, "", 0, 1)
		wants("another one of its id", "9", 2, false, stock.CodeOrderIDReused, 0, 1)
		if _, err := other.Move(t.Context(), stock.Movement{Kind: stock.Resegmented, SKU: "a", Ref: "more", Segments: 5}); err != nil {
			t.Fatal(err)
		}
		wants("of another layout", "10", 1, true, "", 1, 2)
		for n := range 9 { // after which one statement for all is tried again
			wants("of the new layout", fmt.Sprint("new", n), 1, true, "", 0, 1)
		}
		wants("of more than a segment has", "12", 25, true, "", 0, 1)
		if d, err := s.Deduction(t.Context(), "b", "12", ""); err != nil || len(d.Parts) < 2 {
			t.Errorf("a line of more than a segment has: got parts %v, %v, want several", d.Parts, err)
		}
		wants("of more than is left", "13", 25, false, stock.CodeInsufficientStock, 1, 0)
	})
}
