package selling_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// TestOrdersInAnyLineOrder lets orders of the same SKUs meet, with their lines in opposite order, during orders of the
// single SKUs: all or nothing, no deadlock, no unit twice.
func TestOrdersInAnyLineOrder(t *testing.T) {
	eachShop(t, []int64{150, 90, 120}, func(t *testing.T, w *world, services []*selling.Service) {
		var mu sync.Mutex
		var accepted int64
		var wg sync.WaitGroup
		for n := range 120 {
			s := services[n%len(services)]
			o := stock.MultiOrder{OrderID: fmt.Sprintf("order-%d", n/2)} // each comes twice
			for i := range 3 {
				o.Lines = append(o.Lines, stock.Line{SKU: shopSKU(i), Quantity: 2})
			}
			if n%2 == 1 {
				slices.Reverse(o.Lines)
			}
			wg.Go(func() {
				lines, created, err := s.Order(t.Context(), o)
				switch code := stock.CodeOf(err); {
				case err == nil && len(lines) == 3 && lines[0].SKU == o.Lines[0].SKU:
					if created {
						mu.Lock()
						defer mu.Unlock()
						accepted++
					}
				case code != stock.CodeSoldOut && code != stock.CodeInsufficientStock:
					t.Errorf("%s: %+v, %v", o.OrderID, lines, err)
				}
			})
			wg.Go(func() {
				o := stock.Order{OrderID: fmt.Sprintf("single-%d", n), Quantity: 1}
				_, _, err := s.Deduct(t.Context(), shopSKU(n%3), o)
				if code := stock.CodeOf(err); err != nil && code != stock.CodeSoldOut && code != stock.CodeInsufficientStock {
					t.Errorf("%s: %v", o.OrderID, err)
				}
			})
		}
		wg.Wait()
		left := int64(1 << 30)
		for i := range 3 {
			status, err := services[0].SKU(t.Context(), shopSKU(i))
			if err != nil {
				t.Fatal(err)
			}
			left = min(left, status.Available)
		}
		if accepted == 0 || (accepted < 60 && left >= 2) {
			t.Errorf("%d of 60 orders were accepted, and %d units of each SKU are left", accepted, left)
		}
	})
}

// TestOrderAllOrNothing: a line that falls short keeps the others from being taken, and the refusal names it.
func TestOrderAllOrNothing(t *testing.T) {
	eachShop(t, []int64{10, 3, 0}, func(t *testing.T, w *world, services []*selling.Service) {
		s := services[0]
		lines := []stock.Line{{SKU: shopSKU(1), Quantity: 3}, {SKU: shopSKU(0), Quantity: 7}} // of several segments
		for _, c := range []struct {
			more stock.Line
			code stock.Code
		}{
			{stock.Line{SKU: shopSKU(2), Quantity: 1}, stock.CodeSoldOut},
			{stock.Line{SKU: "none", Quantity: 1}, stock.CodeUnknownSKU},
		} {
			_, _, err := s.Order(t.Context(), stock.MultiOrder{OrderID: "a", Lines: append(slices.Clone(lines), c.more)})
			if stock.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.more.SKU) {
				t.Fatalf("with %+v: %v, want %s", c.more, err, c.code)
			}
		}
		order := stock.MultiOrder{OrderID: "a", BuyerID: "b", Lines: lines}
		for _, first := range []bool{true, false} {
			got, created, err := s.Order(t.Context(), order)
			if err != nil || created != first || got[0].Quantity != 3 || got[1].Quantity != 7 {
				t.Fatalf("created %t: %+v, %v", created, got, err)
			}
		}
		for what, other := range map[string]stock.MultiOrder{
			"fewer lines":    {OrderID: "a", BuyerID: "b", Lines: lines[:1]},
			"another buyer":  {OrderID: "a", BuyerID: "c", Lines: lines},
			"other quantity": {OrderID: "a", BuyerID: "b", Lines: []stock.Line{lines[0], {SKU: shopSKU(0), Quantity: 6}}},
		} {
			if _, _, err := s.Order(t.Context(), other); stock.CodeOf(err) != stock.CodeOrderIDReused {
				t.Errorf("%s: %v, want %s", what, err, stock.CodeOrderIDReused)
			}
		}
	})
}

func shopSKU(n int) string { return fmt.Sprintf("sku-%d", n) }

// shop creates a SKU of some segments for each stock.
func (w *world) shop(s *selling.Service, segments int, stocks ...int64) {
	w.t.Helper()
	for i, units := range stocks {
		if _, _, err := s.CreateSKU(w.t.Context(), stock.NewSKU{SKU: shopSKU(i), Stock: units, Segments: segments}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// eachShop runs a test on each store, with locks and without, and with a SKU of three segments for each stock.
func eachShop(t *testing.T, stocks []int64, test func(*testing.T, *world, []*selling.Service)) {
	t.Helper()
	for _, locked := range []bool{true, false} {
		t.Run(fmt.Sprint("locks ", locked), func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, w *world) {
				if !locked {
					w.redis = nil
				}
				services := w.processes(3)
				w.shop(services[0], 3, stocks...)
				test(t, w, services)
			})
		})
	}
}

// TestOrdersBeginAtOneSegment: large orders of the same SKUs meet on all rows or on none, so that they do not all wait for each other.
func TestOrdersBeginAtOneSegment(t *testing.T) {
	const skus = 20
	eachShop(t, slices.Repeat([]int64{30}, skus), func(t *testing.T, w *world, services []*selling.Service) {
		order := stock.MultiOrder{OrderID: "o"}
		for n := range skus {
			order.Lines = append(order.Lines, stock.Line{SKU: shopSKU(n), Quantity: 1})
		}
		if _, _, err := services[0].Order(t.Context(), order); err != nil {
			t.Fatal(err)
		}
		views, err := w.store.Views(t.Context(), order.SKUs()...)
		if err != nil {
			t.Fatal(err)
		}
		first := views[shopSKU(0)].Segments
		for sku, view := range views {
			if !slices.Equal(view.Segments, first) {
				t.Errorf("%s has %v, %s has %v", shopSKU(0), first, sku, view.Segments)
			}
		}
	})
}
