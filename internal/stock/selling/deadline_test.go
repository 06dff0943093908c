package selling_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// slowly is a store that takes its time, and records until when it may write.
type slowly struct {
	endless
	mu     sync.Mutex
	latest time.Time // deadline of a write
}

const slowlyTakes = 900 * time.Millisecond

func (s *slowly) may(deadline time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if deadline.After(s.latest) {
		s.latest = deadline
	}
}

func (s *slowly) Deduct(ctx context.Context, b stock.Batch) (stock.BatchResult, error) {
	s.may(b.Deadline)
	time.Sleep(slowlyTakes)
	return s.endless.Deduct(ctx, b)
}

func (s *slowly) Views(ctx context.Context, skus ...string) (map[string]stock.View, error) {
	time.Sleep(slowlyTakes)
	return s.endless.Views(ctx, skus...)
}

func (*slowly) Deductions(context.Context, string, []string) (map[string]stock.Deduction, error) {
	time.Sleep(slowlyTakes)
	return nil, nil
}

func (s *slowly) Settle(_ context.Context, settlement stock.Settlement) ([]stock.Settled, error) {
	s.may(settlement.Deadline)
	return make([]stock.Settled, len(settlement.Requests)), nil
}

// TestTheTimeOfARequestBeginsWhenItComes: nothing may be written later than AnswerWithin after the start of a call,
// however long the call waits for its turn, or reads first.
func TestTheTimeOfARequestBeginsWhenItComes(t *testing.T) {
	for name, ask := range map[string]func(ctx context.Context, s *selling.Service){
		"many orders": func(ctx context.Context, s *selling.Service) {
			var asking sync.WaitGroup
			for caller := range 5 { // the last one waits for its turn
				asking.Go(func() {
					orders := make([]selling.SKUOrder, stock.MaxOrders)
					for n := range orders {
						orders[n] = selling.SKUOrder{SKU: fmt.Sprint("sku-", caller), Order: stock.Order{OrderID: fmt.Sprint(n), Quantity: 1}}
					}
					_, _ = s.DeductAll(ctx, fmt.Sprint(caller), orders)
				})
			}
			asking.Wait()
		},
		"a cancel of a buyer": func(ctx context.Context, s *selling.Service) {
			_, _ = s.Settle(ctx, sku, stock.SettleRequest{OrderID: "o", BuyerID: "b", Verb: stock.Cancel}, false)
		},
		"an extension": func(ctx context.Context, s *selling.Service) {
			_, _ = s.Settle(ctx, sku, stock.SettleRequest{OrderID: "o", Verb: stock.Extend, ExtendFor: time.Minute, Ref: "r"}, false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			busytest.Virtual(t, func(t *testing.T) {
				store := &slowly{}
				s := serve(t, selling.Config{Store: store, AnswerWithin: selling.DefaultAnswerWithin})
				start := time.Now()
				ask(t.Context(), s)
				if late := store.latest.Sub(start) - selling.DefaultAnswerWithin; store.latest.IsZero() || late > 0 {
					t.Errorf("something could be written %v too late", late)
				}
			})
		})
	}
}

// crowded is a store that writes one batch in nearly the time that its orders have.
type crowded struct{ endless }

func (s crowded) Deduct(ctx context.Context, b stock.Batch) (stock.BatchResult, error) {
	time.Sleep(selling.DefaultAnswerWithin - 10*time.Millisecond)
	return s.endless.Deduct(ctx, b)
}

// TestOrderThatWaitedTooLongIsOverloaded: an order that has waited in the queue until there is no time for a write is told that too many
// wait, as if all of its time were over. The database has failed nobody.
func TestOrderThatWaitedTooLongIsOverloaded(t *testing.T) {
	busytest.Virtual(t, func(t *testing.T) {
		s := serve(t, selling.Config{Store: crowded{}, AnswerWithin: selling.DefaultAnswerWithin})
		var buyers sync.WaitGroup
		for n, want := range []stock.Code{"", stock.CodeOverloaded} {
			buyers.Go(func() {
				_, _, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: fmt.Sprint(n), Quantity: 1})
				if stock.CodeOf(err) != want {
					t.Errorf("order %d: got %v, want %q", n, err, want)
				}
			})
			synctest.Wait()
		}
		buyers.Wait()
	})
}

// forgetful is a store that never finds the orders of a buyer.
type forgetful struct{ endless }

func (forgetful) BuyerOrders(ctx context.Context, _, _ string, _ bool, _ int) ([]stock.Deduction, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// TestAReadEndsAtTheDeadlineOfItsRequest: what is read to name the orders of a refusal ends in time.
func TestAReadEndsAtTheDeadlineOfItsRequest(t *testing.T) {
	busytest.Virtual(t, func(t *testing.T) {
		s := serve(t, selling.Config{Store: forgetful{}, AnswerWithin: selling.DefaultAnswerWithin})
		const within = time.Second
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		refusal := &stock.Error{Code: stock.CodeBuyerLimit, SKU: sku, LimitOf: "b"}
		if err := s.NameOrders(ctx, refusal, ""); stock.CodeOf(err) != stock.CodeBuyerLimit {
			t.Errorf("got %v, want the refusal", err)
		}
		if took := time.Since(start); took != within {
			t.Errorf("the read ended after %v, want %v", took, within)
		}
	})
}
