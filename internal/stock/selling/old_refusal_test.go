package selling_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// lateAnswer holds back the answer to the first write that has refused an order of a buyer, like a slow network.
type lateAnswer struct {
	stock.Store
	first   sync.Once
	refused chan struct{} // closed when it is refused
	tell    chan struct{}
}

func (s *lateAnswer) Deduct(ctx context.Context, b stock.Batch) (stock.BatchResult, error) {
	result, err := s.Store.Deduct(ctx, b)
	if err == nil && result.Outcomes[0].Kind == stock.Limited {
		s.first.Do(func() {
			close(s.refused)
			<-s.tell
		})
	}
	return result, err
}

// TestARefusalByALimitIsOfThoseWhoCameBefore: the database has refused an order, and this process does not know yet.
// Meanwhile another process gives the buyer room. An order that comes after that is not answered from that refusal.
func TestARefusalByALimitIsOfThoseWhoCameBefore(t *testing.T) {
	for name, room := range map[string]func(w *world, other *selling.Service){
		"a higher limit": func(w *world, other *selling.Service) {
			w.reterm(other, stock.TermsChange{PerBuyerLimit: stock.To[int64](9)})
		},
		"a return": func(w *world, other *selling.Service) {
			if _, err := other.Settle(w.t.Context(), sku, stock.SettleRequest{OrderID: "held", Verb: stock.Return}, false); err != nil {
				w.t.Fatal(err)
			}
		},
	} {
		for what, id := range map[string]string{"new": "new", "refused": "waits"} { // of orders that come later
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				virtually(t, silent, func(t *testing.T, w *world) {
					store := &lateAnswer{Store: w.store, refused: make(chan struct{}), tell: make(chan struct{})}
					s, other := w.startOn(store, nil), w.start(nil)
					w.createOn(other, 20, 1, stock.Terms{PerBuyerLimit: 3})
					buy := func(id string) chan error {
						told := make(chan error, 1)
						go func() {
							_, _, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: id, BuyerID: "b", Quantity: 1})
							told <- err
						}()
						return told
					}
					w.mustTake(s, stock.Order{OrderID: "held", BuyerID: "b", Quantity: 3})
					before := buy("refused")
					<-store.refused
					waits := buy("waits") // came before there was room, and may be refused
					synctest.Wait()
					room(w, other)
					after := buy(id)
					synctest.Wait()
					close(store.tell)
					if err := <-before; stock.CodeOf(err) != stock.CodeBuyerLimit {
						t.Errorf("the one that came before got %v, want %s", err, stock.CodeBuyerLimit)
					}
					if err := <-waits; err != nil && stock.CodeOf(err) != stock.CodeBuyerLimit {
						t.Errorf("the one that waited was told %v", err)
					}
					if err := <-after; err != nil {
						t.Errorf("the one that came after was told %v", err)
					}
				})
			})
		}
	}
}

// heldDeduct holds up the first write until it is released.
type heldDeduct struct {
	stock.Store
	first sync.Once
	begun chan struct{}
	letGo chan struct{}
}

func (s *heldDeduct) Deduct(ctx context.Context, b stock.Batch) (stock.BatchResult, error) {
	s.first.Do(func() {
		close(s.begun)
		<-s.letGo
	})
	return s.Store.Deduct(ctx, b)
}

// TestABuyersRetryOfTheShopsOrderIsNotRefusedByALimit: the retry waits behind another order of the buyer, who is at the
// limit.
func TestABuyersRetryOfTheShopsOrderIsNotRefusedByALimit(t *testing.T) {
	t.Parallel()
	virtually(t, embedded, func(t *testing.T, w *world) {
		store := &heldDeduct{Store: w.store, begun: make(chan struct{}), letGo: make(chan struct{})}
		other := w.start(nil)
		w.createOn(other, 20, 1, stock.Terms{PerBuyerLimit: 3})
		w.mustTake(other, stock.Order{OrderID: "of-the-shop", BuyerID: "b", Quantity: 3})
		s := w.startOn(store, nil)
		var buying sync.WaitGroup
		for _, c := range []struct {
			stock.Order
			want stock.Code
		}{
			{stock.Order{OrderID: "first", BuyerID: "a", Quantity: 1}, ""},
			{stock.Order{OrderID: "more", BuyerID: "b", Own: true, Quantity: 1}, stock.CodeBuyerLimit},
			{stock.Order{OrderID: "of-the-shop", BuyerID: "b", Own: true, Quantity: 3}, ""},
		} {
			buying.Go(func() {
				if _, _, err := s.Deduct(t.Context(), sku, c.Order); stock.CodeOf(err) != c.want {
					t.Errorf("%+v: %v, want %q", c.Order, err, c.want)
				}
			})
			<-store.begun
			synctest.Wait() // it queues behind the first
		}
		close(store.letGo)
		buying.Wait()
	})
}

// slowLookup takes more than a second to look order ids up, for the first time.
type slowLookup struct {
	stock.Store
	meanwhile func()
	once      sync.Once
}

func (s *slowLookup) Deductions(ctx context.Context, sku string, orderIDs []string) (map[string]stock.Deduction, error) {
	known, err := s.Store.Deductions(ctx, sku, orderIDs)
	s.once.Do(func() {
		s.meanwhile()
		time.Sleep(time.Second + time.Millisecond)
	})
	return known, err
}

// TestOldTermsRefuseNothing: the terms that refuse an order have changed while the order was looked up. It is decided by the new ones.
func TestOldTermsRefuseNothing(t *testing.T) {
	t.Parallel()
	virtually(t, embedded, func(t *testing.T, w *world) {
		other := w.start(nil)
		w.createOn(other, 9, 1, stock.Terms{PerBuyerLimit: 1})
		s := w.startOn(&slowLookup{Store: w.store, meanwhile: func() { w.reterm(other, stock.TermsChange{PerBuyerLimit: stock.To[int64](2)}) }}, nil)
		w.mustTake(s, stock.Order{OrderID: "o", BuyerID: "b", Quantity: 2})
	})
}

// changedCount lets something happen right before it first counts a buyer for an order of several SKUs.
type changedCount struct {
	stock.Store
	before func()
	once   sync.Once
}

func (s *changedCount) Order(ctx context.Context, p stock.Placement) ([]stock.Deduction, bool, error) {
	s.once.Do(s.before)
	return s.Store.Order(ctx, p)
}

// TestAnOrderIsHeldToOneLimit: the buyer gets a higher limit, and buys as much more, while an order is looked at. The order was within
// the limit at every instant.
func TestAnOrderIsHeldToOneLimit(t *testing.T) {
	t.Parallel()
	virtually(t, embedded, func(t *testing.T, w *world) {
		other := w.start(nil)
		w.createOn(other, 9, 1, stock.Terms{PerBuyerLimit: 1})
		s := w.startOn(&changedCount{Store: w.store, before: func() {
			w.reterm(other, stock.TermsChange{PerBuyerLimit: stock.To[int64](2)})
			w.mustTake(other, stock.Order{OrderID: "before", BuyerID: "x", Quantity: 1})
		}}, nil)
		if _, created, err := s.Order(t.Context(), multi("o", sku)); err != nil || !created {
			t.Errorf("created %v, %v, want true", created, err)
		}
	})
}
