package selling_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// sell lets buyers order from the services, all at once, each one order of 1 to most units.
func (w *world) sell(services []*selling.Service, buyers int, most int64) *tally {
	w.t.Helper()
	seed := rand.Uint64()
	w.t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	told := &tally{}
	var wg sync.WaitGroup
	for n := range buyers {
		o := stock.Order{OrderID: fmt.Sprintf("order-%05d", n), BuyerID: fmt.Sprint("buyer-", n), Quantity: random.Int64N(most) + 1}
		wg.Go(func() {
			_, created, err := services[n%len(services)].Deduct(w.t.Context(), sku, o)
			told.add(o, created, err)
		})
	}
	wg.Wait()
	return told
}

// checkSale compares the buyers' answers with the rows.
func (w *world) checkSale(told *tally) {
	w.t.Helper()
	if len(told.errors) > 0 {
		w.t.Fatalf("%d buyers got no answer, the first: %v", len(told.errors), told.errors[0])
	}
	balance := w.audit()
	if balance.Committed != told.units {
		w.t.Errorf("the rows hold %d units, want %d, which buyers were told of", balance.Committed, told.units)
	}
	if told.smallestRefused > 0 && balance.Available >= told.smallestRefused {
		w.t.Errorf("stranded: %d units are left, and an order of %d was refused", balance.Available, told.smallestRefused)
	}
}

func TestSellsOutExactly(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		s := w.start(nil)
		w.create(s, 997, 7)
		told := w.sell([]*selling.Service{s}, 1500, 1)
		w.checkSale(told)
		if told.accepted != 997 || told.soldOut != 503 {
			t.Errorf("accepted %d, sold out %d; want 997 and 503", told.accepted, told.soldOut)
		}
	})
}

func TestMixedQuantitiesStrandNothing(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		s := w.start(nil)
		w.create(s, 500, 8)
		w.checkSale(w.sell([]*selling.Service{s}, 400, 5))
	})
}

func TestSeveralProcessesSellOutExactly(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		services := []*selling.Service{w.start(nil), w.start(nil), w.start(nil)}
		w.create(services[0], 900, 4)
		w.checkSale(w.sell(services, 700, 3))
	})
}

func TestMoreProcessesThanSegments(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		services := []*selling.Service{w.start(nil), w.start(nil), w.start(nil)}
		w.create(services[0], 300, 1)
		told := w.sell(services, 400, 1)
		w.checkSale(told)
		if told.accepted != 300 {
			t.Errorf("accepted %d, want 300", told.accepted)
		}
	})
}

func TestOneRequestFiftyTimes(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		services := []*selling.Service{w.start(nil), w.start(nil)}
		w.create(services[0], 100, 5)
		o := stock.Order{OrderID: "same", BuyerID: "b", Quantity: 2}
		told := &tally{}
		var wg sync.WaitGroup
		for n := range 50 {
			wg.Go(func() {
				d, created, err := services[n%2].Deduct(t.Context(), sku, o)
				if err == nil && (d.OrderID != "same" || d.Quantity != 2 || d.BuyerID != "b") {
					err = fmt.Errorf("answered with %+v", d)
				}
				told.add(o, created, err)
			})
		}
		wg.Wait()
		w.checkSale(told)
		if told.accepted != 1 {
			t.Errorf("accepted %d times, want 1", told.accepted)
		}
	})
}

func TestOrderIDReusedForAnotherOrder(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		s := w.start(nil)
		w.create(s, 10, 2)
		if _, _, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: "a", BuyerID: "b", Quantity: 1}); err != nil {
			t.Fatal(err)
		}
		for _, o := range []stock.Order{
			{OrderID: "a", BuyerID: "b", Quantity: 2},
			{OrderID: "a", BuyerID: "c", Quantity: 1},
			{OrderID: "a", Quantity: 1},
		} {
			if _, _, err := s.Deduct(t.Context(), sku, o); stock.CodeOf(err) != stock.CodeOrderIDReused {
				t.Errorf("%+v: got %v", o, err)
			}
		}
	})
}

func TestOrderLargerThanASegmentMerges(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		seen := &counts{}
		s := w.start(seen.note)
		w.create(s, 100, 10)
		if _, _, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: "a", Quantity: 35}); err != nil {
			t.Fatal(err)
		}
		d, err := s.Deduction(t.Context(), sku, "a", "")
		if err != nil || len(d.Parts) != 4 {
			t.Fatalf("deduction %+v, %v", d, err)
		}
		if seen.merged.Load() != 1 || w.audit().Merges != 1 {
			t.Errorf("merged: observed %d, in the rows %d, want 1", seen.merged.Load(), w.audit().Merges)
		}
		_, _, err = s.Deduct(t.Context(), sku, stock.Order{OrderID: "b", Quantity: 66})
		var e *stock.Error
		if !errors.As(err, &e) || e.Code != stock.CodeInsufficientStock || e.Available != 65 {
			t.Errorf("66 of 65: got %v", err)
		}
		if _, _, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: "c", Quantity: 65}); err != nil {
			t.Errorf("65 of 65: got %v", err)
		}
	})
}

func TestWinnersRetryAfterSoldOut(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		seen := &counts{}
		s := w.start(seen.note)
		w.create(s, 2, 2)
		winner := stock.Order{OrderID: "winner", Quantity: 2}
		if _, created, err := s.Deduct(t.Context(), sku, winner); err != nil || !created {
			t.Fatalf("created %v, %v, want true", created, err)
		}
		for n := range 5 {
			o := stock.Order{OrderID: fmt.Sprint(n), Quantity: 1}
			if _, _, err := s.Deduct(t.Context(), sku, o); stock.CodeOf(err) != stock.CodeSoldOut {
				t.Fatalf("loser %d: %v, want %s", n, err, stock.CodeSoldOut)
			}
			if d, created, err := s.Deduct(t.Context(), sku, winner); err != nil || created || d.Quantity != 2 {
				t.Fatalf("winner's retry: %+v, %v, %v", d, created, err)
			}
		}
		if seen.fromMemory.Load() == 0 {
			t.Error("no refusal came from memory")
		}
		// A refusal is not stored: after a restock the same order ids are accepted at once.
		if created, err := s.Move(t.Context(), stock.Movement{Kind: stock.Restocked, SKU: sku, Ref: "r", Quantity: 1}); err != nil || !created {
			t.Fatalf("restock: %v, %v, want true", created, err)
		}
		if _, created, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: "0", Quantity: 1}); err != nil || !created {
			t.Fatalf("after the restock: %v, %v, want true", created, err)
		}
	})
}

// TestOneUnitIsNotSoldOut: an order for more than the last unit learns that there is one, and it can still be bought.
func TestOneUnitIsNotSoldOut(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		s := w.start(nil)
		w.create(s, 3, 2)
		w.deduct(s, "a", 2)
		for n := range 3 {
			_, _, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: fmt.Sprint("two-", n), Quantity: 2})
			var e *stock.Error
			if !errors.As(err, &e) || e.Code != stock.CodeInsufficientStock || e.Available != 1 {
				t.Errorf("2 of 1: %v", err)
			}
		}
		w.deduct(s, "last", 1)
		w.checkSale(&tally{units: 3})
	})
}

// TestFencedOutWorkerGoesOn raises the fence of every row above any token, as a Redis whose clock was ahead would have
// done.
func TestFencedOutWorkerGoesOn(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		w.always = true
		seen := &counts{}
		s := w.start(seen.note)
		w.create(s, 40, 2)
		w.raise(1<<60, 2)
		told := w.sell([]*selling.Service{s}, 60, 1)
		told.units += 2 // the two of the future
		w.checkSale(told)
		if told.accepted != 38 || seen.fencedOut.Load() == 0 {
			t.Errorf("accepted %d, fenced out %d times", told.accepted, seen.fencedOut.Load())
		}
	})
}

func TestUnknownSKU(t *testing.T) {
	t.Parallel()
	virtually(t, embedded, func(t *testing.T, w *world) {
		s := w.start(nil)
		o := stock.Order{OrderID: "a", Quantity: 1}
		w.refused(s, o, stock.CodeUnknownSKU)
		w.create(s, 1, 1) // the cache does not keep it as unknown
		if _, created, err := s.Deduct(t.Context(), sku, o); err != nil || !created {
			t.Fatalf("got %v, %v", created, err)
		}
	})
}

func TestCloseFinishesAndGivesLocksBack(t *testing.T) {
	t.Parallel()
	virtually(t, embedded, func(t *testing.T, w *world) {
		w.always = true
		slow := newSlowStore(w.store)
		s := w.startOn(slow, nil)
		w.create(s, 100, 2)
		locks := func() []string {
			return w.client().Keys(t.Context(), "lk:*:m[0-9:]*").Val()
		}
		answer := w.asks(s, "in flight", 1)
		<-slow.entered
		if held := locks(); len(held) != 1 {
			t.Errorf("locks in mid-batch: %v", held)
		}
		closed := make(chan error, 1)
		go func() { closed <- s.Close(t.Context()) }()
		slow.proceed <- struct{}{}
		if code, err := <-answer, <-closed; code != "" || err != nil {
			t.Errorf("in flight: %q; Close: %v", code, err)
		}
		w.refused(s, stock.Order{OrderID: "late", Quantity: 1}, stock.CodeUnavailable)
		if held := locks(); len(held) > 0 {
			t.Errorf("locks left: %v", held)
		}
	})
}

// slowStore holds back batches until it is released.
type slowStore struct {
	stock.Store
	entered chan struct{}
	proceed chan struct{}
}

func newSlowStore(store stock.Store) *slowStore {
	return &slowStore{Store: store, entered: make(chan struct{}), proceed: make(chan struct{})}
}

func (s *slowStore) Deduct(ctx context.Context, batch stock.Batch) (stock.BatchResult, error) {
	s.entered <- struct{}{}
	<-s.proceed
	return s.Store.Deduct(ctx, batch)
}

func TestCallerWhoLeavesDoesNotUndoAWriteUnderWay(t *testing.T) {
	t.Parallel()
	virtually(t, embedded, func(t *testing.T, w *world) {
		slow := newSlowStore(w.store)
		s := w.startOn(slow, nil)
		w.create(s, 10, 1)
		ctx, leave := context.WithCancel(t.Context())
		answer := make(chan error, 1)
		o := stock.Order{OrderID: "a", Quantity: 1}
		go func() {
			_, _, err := s.Deduct(ctx, sku, o)
			answer <- err
		}()
		<-slow.entered
		leave()
		if err := <-answer; stock.CodeOf(err) != stock.CodeUnavailable || !errors.Is(err, context.Canceled) {
			t.Errorf("the caller was told %v", err)
		}
		slow.proceed <- struct{}{}
		// A retry learns what happened.
		go func() { <-slow.entered; slow.proceed <- struct{}{} }()
		if d, created, err := s.Deduct(t.Context(), sku, o); err != nil || created || d.Quantity != 1 {
			t.Errorf("asked again: %+v, %v, %v", d, created, err)
		}
	})
}

// brokenStore fails writes with an unknown outcome.
type brokenStore struct {
	stock.Store
	err error
}

func (s *brokenStore) Deduct(ctx context.Context, batch stock.Batch) (stock.BatchResult, error) {
	if _, err := s.Store.Deduct(ctx, batch); err != nil {
		return stock.BatchResult{}, err
	}
	err := s.err
	s.err = nil
	if err != nil {
		return stock.BatchResult{}, err
	}
	return s.Store.Deduct(ctx, batch)
}

func TestReplyLostAfterCommit(t *testing.T) {
	t.Parallel()
	virtually(t, embedded, func(t *testing.T, w *world) {
		seen := &counts{}
		s := w.startOn(&brokenStore{Store: w.store, err: fmt.Errorf("%w: connection reset", stock.ErrGuard)}, seen.note)
		w.create(s, 10, 1)
		o := stock.Order{OrderID: "a", Quantity: 1}
		w.refused(s, o, stock.CodeUnavailable)
		if _, created, err := s.Deduct(t.Context(), sku, o); err != nil || created {
			t.Fatalf("the retry: created %v, %v", created, err)
		}
		if seen.guard.Load() != 1 {
			t.Errorf("guard fired %d times, want 1", seen.guard.Load())
		}
		if b := w.audit(); b.Committed != 1 {
			t.Errorf("committed %d, want 1", b.Committed)
		}
	})
}
