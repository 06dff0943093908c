package selling_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// deductAll deducts many orders of the test's SKU.
func (w *world) deductAll(s *selling.Service, orders []stock.Order) []selling.Result {
	w.t.Helper()
	all := make([]selling.SKUOrder, len(orders))
	for i, o := range orders {
		all[i] = selling.SKUOrder{SKU: sku, Order: o}
	}
	results, err := s.DeductAll(w.t.Context(), "caller", all)
	if err != nil || len(results) != len(orders) {
		w.t.Fatalf("%d results, %v, want %v", len(results), err, len(orders))
	}
	return results
}

// TestManyOrdersSellOutExactly: many orders of several concurrent requests sell out exactly, and each accepted order is sent again.
func TestManyOrdersSellOutExactly(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		s := w.start(nil)
		w.create(s, 500, 5)
		told := &tally{}
		var wg sync.WaitGroup
		for n := range 12 {
			wg.Go(func() {
				orders := make([]stock.Order, 60)
				for i := range orders {
					orders[i] = stock.Order{OrderID: fmt.Sprint(n, "-", i), BuyerID: fmt.Sprint(i), Quantity: 1}
				}
				first := w.deductAll(s, orders)
				again := w.deductAll(s, orders)
				for i, r := range first {
					told.add(orders[i], r.Created, r.Err)
					if a := again[i]; a.Created || (a.Err == nil) != (r.Err == nil) || a.Deduction.OrderID != r.Deduction.OrderID {
						t.Errorf("order %s: %+v, and again %+v", orders[i].OrderID, r, a)
					}
				}
			})
		}
		wg.Wait()
		w.checkSale(told)
		if told.accepted != 500 || told.soldOut != 220 {
			t.Errorf("accepted %d, sold out %d; want 500 and 220", told.accepted, told.soldOut)
		}
	})
}

// TestManyOrdersMeetExpiredReservations: these are ended before an answer shows them.
func TestManyOrdersMeetExpiredReservations(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.clock = newClock()
		s := w.start(nil)
		w.create(s, 300, 3)
		orders := make([]stock.Order, 200)
		for i := range orders {
			orders[i] = stock.Order{OrderID: fmt.Sprint(i), Quantity: 1}
			if i%2 == 0 {
				orders[i].ReserveFor = time.Minute
			}
		}
		for i, r := range w.deductAll(s, orders) {
			if r.Err != nil || !r.Created {
				t.Errorf("order %d: %+v", i, r)
			}
		}
		w.clock.advance(time.Minute)
		for i, r := range w.deductAll(s, orders) {
			want := []stock.Code{stock.CodeOrderEnded, ""}[i%2]
			if stock.CodeOf(r.Err) != want || r.Created || (r.Deduction.Status == stock.StatusCommitted) != (want == "") {
				t.Errorf("order %d: got %+v, want %q", i, r, want)
			}
		}
		if balance := w.audit(); balance.Available != 200 || balance.Reserved != 0 {
			t.Errorf("%+v", balance)
		}
	})
}
