package selling_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// TestExtendedUnitsStayTaken: all units are reserved, and every process knows that the SKU is sold out until the
// reservation ends. After an extension the units stay taken until the new end, and are then sold at once.
func TestExtendedUnitsStayTaken(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.clock = newClock()
		services := w.processes(3)
		w.create(services[0], 6, 3)
		refusedByAll := func() {
			t.Helper()
			for _, s := range services {
				w.refused(s, stock.Order{OrderID: "loser", Quantity: 1}, stock.CodeSoldOut)
			}
		}
		for n, s := range services {
			id := fmt.Sprint("reserved-", n)
			w.mustTake(services[0], stock.Order{OrderID: id, Quantity: 6, ReserveFor: time.Minute})
			refusedByAll()
			w.clock.advance(time.Minute - time.Microsecond)
			if _, err := s.Settle(t.Context(), sku, stock.SettleRequest{OrderID: id, Ref: "r", Verb: stock.Extend, ExtendFor: time.Hour}, false); err != nil {
				t.Fatal(err)
			}
			w.clock.advance(time.Microsecond)
			refusedByAll()
			if status, err := s.SKU(t.Context(), sku); err != nil || status.Reserved != 6 || status.Stale {
				t.Fatalf("after the old end: %+v, %v", status, err)
			}
			w.clock.advance(time.Hour - 2*time.Microsecond)
			refusedByAll()
			w.clock.advance(time.Microsecond)
			w.mustTake(services[0], stock.Order{OrderID: fmt.Sprint("next-", n), Quantity: 6, ReserveFor: time.Second})
			w.clock.advance(time.Second)
		}
	})
}

// TestExtensionsAreBounded: by the SKU's terms, as first reservations are.
func TestExtensionsAreBounded(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.clock = newClock()
		s := w.start(nil)
		n := stock.NewSKU{SKU: sku, Stock: 9, Segments: 3, Terms: stock.Terms{MaxReserveFor: 2 * time.Hour}}
		if _, _, err := s.CreateSKU(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		w.mustTake(s, stock.Order{OrderID: "o", Quantity: 1, ReserveFor: time.Minute})
		for _, c := range []struct {
			sku    string
			extend time.Duration
			want   stock.Code
		}{
			{sku, 2 * time.Hour, ""},
			{sku, 2*time.Hour + time.Microsecond, stock.CodeInvalidRequest},
			{sku, stock.MaxReserve + time.Hour, stock.CodeInvalidRequest},
			{sku, -time.Hour, stock.CodeInvalidRequest},
			{"none", time.Hour, stock.CodeUnknownSKU},
		} {
			_, err := s.Settle(t.Context(), c.sku, stock.SettleRequest{OrderID: "o", Ref: c.extend.String(), Verb: stock.Extend, ExtendFor: c.extend}, false)
			if stock.CodeOf(err) != c.want {
				t.Errorf("%s extended by %s: %v, want %q", c.sku, c.extend, err, c.want)
			}
		}
	})
}

// TestAmendmentsHappenOnce sends returns and extensions of one order through two processes each, with a commit in
// between: both callers of a ref get the same answer, and the units that were not given back are still held.
func TestAmendmentsHappenOnce(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.clock = newClock()
		services := w.processes(3)
		w.create(services[0], 40, 4)
		for round := range 10 {
			id := fmt.Sprint("o-", round)
			order := stock.Order{OrderID: id, Quantity: 12, ReserveFor: time.Minute} // of several segments
			w.mustTake(services[0], order)
			requests := []stock.SettleRequest{{OrderID: id}}
			for ref := range int64(6) {
				requests = append(requests, stock.SettleRequest{OrderID: id, Ref: fmt.Sprint(ref), Verb: stock.Cancel, Quantity: 1 + ref%4})
			}
			for ref := range 3 {
				requests = append(requests, stock.SettleRequest{OrderID: id, Ref: fmt.Sprint("e", ref), Verb: stock.Extend, ExtendFor: time.Hour})
			}
			codes := w.twice(services, requests)
			held := order.Quantity
			for i, request := range requests[1:] {
				first, second := codes[i+1][0], codes[i+1][1]
				if (first == "") != (second == "") {
					t.Fatalf("%+v: one caller was told %q, the other %q", request, first, second)
				}
				if first == "" {
					held -= request.Quantity
				}
			}
			d, err := services[round%len(services)].Deduction(t.Context(), sku, id, "")
			if err != nil || d.Status == stock.StatusCommitted && (d.Quantity != held || sumOfParts(d) != held) || d.Status != stock.StatusCommitted && held != 0 {
				t.Fatalf("%+v, %v, want %d units", d, err, held)
			}
			again, err := w.ask(services[0], order)
			if held == 0 && stock.CodeOf(err) != stock.CodeOrderEnded || held > 0 && (err != nil || again.Quantity != held) {
				t.Fatalf("the order again: got %+v, %v, want %d units", again, err, held)
			}
			_, err = services[0].Settle(t.Context(), sku, stock.SettleRequest{OrderID: id, Verb: stock.Return}, false)
			if err != nil && (held > 0 || stock.CodeOf(err) != stock.CodeNotCommitted) {
				t.Fatal(err)
			}
			if b := w.audit(); b.Available != 40 {
				t.Fatalf("%d units are back, want 40", b.Available)
			}
		}
	})
}

// twice sends each request through two of the services at once, and returns the two answers.
func (w *world) twice(services []*selling.Service, requests []stock.SettleRequest) [][2]stock.Code {
	w.t.Helper()
	codes := make([][2]stock.Code, len(requests))
	var wg sync.WaitGroup
	for i, request := range requests {
		for n := range codes[i] {
			wg.Go(func() {
				_, err := services[(i+n)%len(services)].Settle(w.t.Context(), sku, request, false)
				codes[i][n] = stock.CodeOf(err)
			})
		}
	}
	wg.Wait()
	return codes
}
