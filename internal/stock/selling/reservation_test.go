package selling_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// processes returns services of a world: only one if the database belongs to one process.
func (w *world) processes(n int) []*selling.Service {
	w.t.Helper()
	if w.url == "" {
		n = 1
	}
	services := []*selling.Service{w.start(nil)}
	for range n - 1 {
		services = append(services, w.startOn(w.another(), nil))
	}
	return services
}

// ask orders until there is an answer.
func (w *world) ask(s *selling.Service, o stock.Order) (d stock.Deduction, err error) {
	w.t.Helper()
	err = patiently(w.t, func() (err error) {
		d, _, err = s.Deduct(w.t.Context(), sku, o)
		return err
	})
	return d, err
}

// mustTake deducts and returns the deduction.
func (w *world) mustTake(s *selling.Service, o stock.Order) stock.Deduction {
	w.t.Helper()
	d, err := w.ask(s, o)
	if err != nil {
		w.t.Fatalf("%+v: %v", o, err)
	}
	return d
}

func (w *world) deduct(s *selling.Service, id string, quantity int64) stock.Deduction {
	w.t.Helper()
	return w.mustTake(s, stock.Order{OrderID: id, Quantity: quantity})
}

func (w *world) refused(s *selling.Service, o stock.Order, want stock.Code) {
	w.t.Helper()
	if _, err := w.ask(s, o); stock.CodeOf(err) != want {
		w.t.Fatalf("%+v: %v, want %s", o, err, want)
	}
}

func TestReservationEndsOnce(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.clock = newClock()
		s := w.start(nil)
		w.create(s, 10, 2)
		order := stock.Order{OrderID: "a", BuyerID: "b", Quantity: 7, ReserveFor: time.Minute} // of both segments
		d := w.mustTake(s, order)
		if d.Status != stock.StatusReserved || !d.ExpiresAt.Equal(w.clock.now().Add(time.Minute)) {
			t.Fatalf("reserved as %+v", d)
		}
		other := order
		other.ReserveFor = 2 * time.Minute
		w.refused(s, other, stock.CodeOrderIDReused)
		for _, request := range []stock.SettleRequest{{OrderID: "a", BuyerID: "thief"}, {OrderID: "none"}, {OrderID: "a", BuyerID: "thief", Verb: stock.Cancel}} {
			if _, err := s.Settle(t.Context(), sku, request, false); stock.CodeOf(err) != stock.CodeUnknownDeduction {
				t.Fatalf("%+v: %v", request, err)
			}
		}
		for range 2 { // the second changes nothing
			if d, err := s.Settle(t.Context(), sku, stock.SettleRequest{OrderID: "a", BuyerID: "b", Quantity: 6}, false); err != nil || d.Status != stock.StatusCommitted || d.Quantity != 6 {
				t.Fatalf("committed as %+v, %v", d, err)
			}
		}
		if again := w.mustTake(s, order); again.Status != stock.StatusCommitted || again.Quantity != 6 {
			t.Fatalf("the order again: %+v", again)
		}
		if _, err := s.Settle(t.Context(), sku, stock.SettleRequest{OrderID: "a", Quantity: 5}, false); stock.CodeOf(err) != stock.CodeAlreadyCommitted {
			t.Fatalf("committed with another quantity: %v", err)
		}
		read, err := s.Deduction(t.Context(), sku, "a", "b")
		if err != nil || sumOfParts(read) != 6 {
			t.Fatalf("read as %+v, %v", read, err)
		}
		if _, err := s.Deduction(t.Context(), sku, "a", "thief"); stock.CodeOf(err) != stock.CodeUnknownDeduction {
			t.Fatalf("another buyer read it: %v", err)
		}
		for range 2 {
			if d, err := s.Settle(t.Context(), sku, stock.SettleRequest{OrderID: "a", Verb: stock.Return}, false); err != nil || d.Status != stock.StatusReturned {
				t.Fatalf("returned as %+v, %v", d, err)
			}
		}
		if b := w.audit(); b.Available != 10 {
			t.Fatalf("%d units are back, want 10", b.Available)
		}
	})
}

func sumOfParts(d stock.Deduction) (units int64) {
	for _, p := range d.Parts {
		units += p.Quantity
	}
	return units
}

// TestExpiredUnitsAreSoldAtOnce: all units are reserved, and the SKU is known to be sold out. At the instant at which
// that ends, the next order gets the units, in every process, without a sweep. An expired reservation cannot be
// committed.
func TestExpiredUnitsAreSoldAtOnce(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.clock = newClock()
		services := w.processes(3)
		w.create(services[0], 6, 3)
		for n, s := range services {
			for round := range 3 {
				reserved := fmt.Sprintf("reserved-%d-%d", n, round)
				w.mustTake(s, stock.Order{OrderID: reserved, Quantity: 6, ReserveFor: time.Minute})
				for _, other := range services {
					w.refused(other, stock.Order{OrderID: "loser", Quantity: 1}, stock.CodeSoldOut)
				}
				w.clock.advance(time.Minute - time.Microsecond)
				w.refused(s, stock.Order{OrderID: "loser", Quantity: 1}, stock.CodeSoldOut)
				w.clock.advance(time.Microsecond)
				if status, err := s.SKU(t.Context(), sku); err != nil || status.Available != 6 || status.Reserved != 0 {
					t.Fatalf("after the expiry: %+v, %v", status, err)
				}
				buyer := services[(n+round)%len(services)]
				w.mustTake(buyer, stock.Order{OrderID: "next of " + reserved, Quantity: 6, ReserveFor: time.Second})
				if _, err := s.Settle(t.Context(), sku, stock.SettleRequest{OrderID: reserved}, false); stock.CodeOf(err) != stock.CodeNotReserved {
					t.Fatalf("committed after its time: %v", err)
				}
				w.clock.advance(time.Second)
			}
		}
	})
}

// TestCommitAndExpiryHaveOneWinner lets a commit race an order that wants the units of the expiring reservation.
func TestCommitAndExpiryHaveOneWinner(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.clock = newClock()
		services := w.processes(2)
		w.create(services[0], 1, 2)
		won := map[bool]int{}
		for round := range 20 {
			id, next := fmt.Sprintf("reserved-%d", round), fmt.Sprintf("next-%d", round)
			w.mustTake(services[0], stock.Order{OrderID: id, Quantity: 1, ReserveFor: time.Minute})
			var committed, bought error
			var wg sync.WaitGroup
			wg.Go(func() { _, committed = services[0].Settle(t.Context(), sku, stock.SettleRequest{OrderID: id}, false) })
			wg.Go(func() {
				w.clock.advance(time.Minute)
				_, bought = w.ask(services[len(services)-1], stock.Order{OrderID: next, Quantity: 1})
			})
			wg.Wait()
			if committed != nil { // for a moment, the other process may know the state before the last cancel
				busytest.Soon(t, "the other process knows what is left", func() bool {
					_, bought = w.ask(services[len(services)-1], stock.Order{OrderID: next, Quantity: 1})
					return stock.CodeOf(bought) != stock.CodeSoldOut
				})
			}
			winner := next
			switch {
			case committed == nil && stock.CodeOf(bought) == stock.CodeSoldOut:
				winner = id
			case stock.CodeOf(committed) != stock.CodeNotReserved || bought != nil:
				t.Fatalf("round %d: commit: %v, next buyer: %v", round, committed, bought)
			}
			won[winner == id]++
			if _, err := services[0].Settle(t.Context(), sku, stock.SettleRequest{OrderID: winner, Verb: stock.Return}, false); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("commits won %d times, the next buyer %d times", won[true], won[false])
	})
}

// TestSweep: units come back without any request.
func TestSweep(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.clock = newClock()
		s := w.start(nil)
		w.create(s, 9, 3)
		w.mustTake(s, stock.Order{OrderID: "a", Quantity: 9, ReserveFor: time.Minute})
		w.clock.advance(time.Minute)
		busytest.Soon(t, "the units are back", func() bool {
			views, err := w.store.Views(t.Context(), sku)
			if err != nil {
				t.Fatal(err)
			}
			return stock.Sum(views[sku].Segments) == 9
		})
	})
}

// TestBuyerLimit: a hundred concurrent orders of one buyer who may have three units, over three processes; then again
// after some were cancelled and some have expired.
func TestBuyerLimit(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.clock = newClock()
		services := w.processes(3)
		n := stock.NewSKU{SKU: sku, Stock: 1000, Segments: 10, Terms: stock.Terms{PerBuyerLimit: 3}}
		if _, _, err := services[0].CreateSKU(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		for round := range 4 {
			accepted := w.storm(services, round)
			if len(accepted) != 3 {
				t.Fatalf("round %d: %d orders were accepted, want 3", round, len(accepted))
			}
			w.refused(services[0], stock.Order{OrderID: "no buyer", Quantity: 1}, stock.CodeInvalidRequest)
			if round%2 == 0 {
				w.clock.advance(time.Minute) // all three expire
				continue
			}
			for _, id := range accepted {
				if _, err := services[round%len(services)].Settle(t.Context(), sku, stock.SettleRequest{OrderID: id, Verb: stock.Cancel}, false); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// storm sends a hundred orders of one buyer and some of others, and returns the accepted orders of that buyer.
func (w *world) storm(services []*selling.Service, round int) (accepted []string) {
	w.t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for n := range 100 {
		s := services[n%len(services)]
		wg.Go(func() {
			id := fmt.Sprintf("greedy-%d-%d", round, n)
			_, err := w.ask(s, stock.Order{OrderID: id, BuyerID: "greedy", Quantity: 1, ReserveFor: time.Minute})
			if code := stock.CodeOf(err); code != "" && code != stock.CodeBuyerLimit {
				w.t.Errorf("%s: %v", id, err)
			}
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				accepted = append(accepted, id)
			}
		})
		wg.Go(func() {
			name := fmt.Sprintf("modest-%d-%d", round, n)
			if _, err := w.ask(s, stock.Order{OrderID: name, BuyerID: name, Quantity: 1}); err != nil {
				w.t.Errorf("%s: %v", name, err)
			}
		})
	}
	wg.Wait()
	return accepted
}

func TestTerms(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.clock = newClock()
		s := w.start(nil)
		begins := w.clock.now().Add(time.Minute)
		n := stock.NewSKU{SKU: sku, Stock: 10, Segments: 2, Terms: stock.Terms{
			SaleStartsAt: begins, SaleEndsAt: begins.Add(time.Minute), MaxQuantity: 4, MaxReserveFor: 90*time.Second + time.Microsecond,
		}}
		for _, first := range []bool{true, false} {
			status, created, err := s.CreateSKU(t.Context(), n)
			if err != nil || created != first || status.Terms != n.Terms {
				t.Fatalf("created %t: %+v, %v", created, status, err)
			}
		}
		other := n
		other.MaxQuantity = 5
		if _, _, err := s.CreateSKU(t.Context(), other); stock.CodeOf(err) != stock.CodeSKUExists {
			t.Fatalf("created with other terms: %v", err)
		}
		other = n
		other.MaxReserveFor = time.Minute
		if _, _, err := s.CreateSKU(t.Context(), other); stock.CodeOf(err) != stock.CodeSKUExists {
			t.Fatalf("created with another longest reservation: %v", err)
		}
		order := stock.Order{OrderID: "a", Quantity: 4}
		w.refused(s, order, stock.CodeSaleClosed)
		w.clock.advance(time.Minute - time.Microsecond)
		w.refused(s, order, stock.CodeSaleClosed)
		w.clock.advance(time.Microsecond)
		w.mustTake(s, order)
		w.refused(s, stock.Order{OrderID: "b", Quantity: 5}, stock.CodeInvalidRequest)
		w.refused(s, stock.Order{OrderID: "b", Quantity: 1, ReserveFor: 2 * time.Minute}, stock.CodeInvalidRequest)
		w.clock.advance(time.Minute - time.Microsecond)
		w.mustTake(s, stock.Order{OrderID: "c", Quantity: 1})
		w.clock.advance(time.Microsecond)
		w.refused(s, stock.Order{OrderID: "d", Quantity: 1}, stock.CodeSaleClosed)
		w.mustTake(s, order) // a winner's retry
	})
}

// TestResegmentUnderLoad gives a SKU other segments while it is sold, reserved, returned and restocked.
func TestResegmentUnderLoad(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		services := w.processes(3)
		w.create(services[0], 100_000, 10)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for n := range 16 {
			wg.Go(func() { w.busy(ctx, services[n%len(services)], n) })
		}
		last := services[len(services)-1]
		for round, segments := range []int{64, 1, 10, 3, 64, 1} {
			m := stock.Movement{Kind: stock.Resegmented, SKU: sku, Ref: fmt.Sprint(round), Segments: segments, Reason: "load"}
			for _, first := range []bool{true, false} {
				if created, err := last.Move(t.Context(), m); err != nil || created != first {
					t.Errorf("to %d segments: %t, %v", segments, created, err)
				}
			}
			if status, err := last.SKU(t.Context(), sku); err != nil || len(status.Segments) != segments {
				t.Errorf("%d segments: %v, want %d", len(status.Segments), err, segments)
			}
			time.Sleep(3 * time.Millisecond) // some orders
		}
		cancel()
		wg.Wait()
		w.mustTake(last, stock.Order{OrderID: "after all", Quantity: 1})
	})
}

// busy buys, reserves, settles and returns until ctx ends.
func (w *world) busy(ctx context.Context, s *selling.Service, n int) {
	for round := 0; ctx.Err() == nil; round++ {
		time.Sleep(time.Duration(1+n) * time.Millisecond / 8)
		o := stock.Order{OrderID: fmt.Sprintf("busy-%d-%d", n, round), Quantity: int64(round%5) + 1}
		if round%3 == 0 {
			o.ReserveFor = time.Hour
		}
		if _, err := w.ask(s, o); err != nil {
			w.t.Errorf("%+v: %v", o, err)
			return
		}
		if round%3 == 1 {
			continue
		}
		request := stock.SettleRequest{OrderID: o.OrderID}
		switch {
		case round%2 == 1 && o.ReserveFor > 0:
			request.Verb = stock.Cancel
		case round%2 == 1:
			request.Verb = stock.Return
		}
		if _, err := s.Settle(w.t.Context(), sku, request, false); err != nil {
			w.t.Errorf("%+v: %v", request, err)
			return
		}
	}
}
