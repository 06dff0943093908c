package selling_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// stale is a store in which one buyer is at the limit with expired reservations, which it fails to give back.
type stale struct {
	endless
	gate chan struct{} // each write waits until it is closed
}

func (stale) Views(context.Context, ...string) (map[string]stock.View, error) {
	return map[string]stock.View{sku: {Layout: 1, Segments: []int64{1 << 30}, Terms: stock.Terms{PerBuyerLimit: 3}}}, nil
}

func (stale) Expire(context.Context, string, time.Time) (int, error) { return 0, stock.ErrGuard }

func (s stale) Deduct(ctx context.Context, b stock.Batch) (stock.BatchResult, error) {
	<-s.gate
	result, err := s.endless.Deduct(ctx, b)
	for i, o := range b.Orders {
		if o.BuyerID == "greedy" {
			result.Outcomes[i], result.Stale = stock.Outcome{Kind: stock.Limited}, true
		}
	}
	return result, err
}

// TestAFailedSweepCostsItsBuyerAlone: the other orders of the batch get their answers, and each only one.
func TestAFailedSweepCostsItsBuyerAlone(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		store := stale{gate: make(chan struct{})}
		s := serve(t, selling.Config{Store: store})
		var wg sync.WaitGroup
		for buyer, want := range map[string]stock.Code{"modest": "", "greedy": stock.CodeUnavailable, "thrifty": ""} {
			wg.Go(func() {
				_, _, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: "of-" + buyer, BuyerID: buyer, Quantity: 1})
				if code := stock.CodeOf(err); code != want {
					t.Errorf("%s: %q, want %q", buyer, code, want)
				}
			})
		}
		synctest.Wait() // the first waits at the gate, and the others behind it
		close(store.gate)
		wg.Wait()
	})
}

// sharedStale is a store in which each order after the first is shared, and finds its buyer at the limit with reservations that have
// expired. The store does not manage to give them back.
type sharedStale struct {
	stale
	sold *atomic.Bool
}

func (s sharedStale) Share(_ string, batch stock.SharedBatch) bool {
	if !s.sold.Swap(true) {
		return false
	}
	go func() {
		if taken, there := batch.Begin(); there {
			batch.Written(stock.BatchResult{Stale: true, Outcomes: []stock.Outcome{{Kind: stock.Limited}}[:len(taken.Orders)]}, true, nil)
		}
	}()
	return true
}

func (sharedStale) Expire(ctx context.Context, _ string, _ time.Time) (int, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

// TestASharedOrderWaitsForExpiredUnitsInItsTime: no longer than until its deadline, as an order that shares no write.
func TestASharedOrderWaitsForExpiredUnitsInItsTime(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		gate := make(chan struct{})
		close(gate)
		s := selling.NewService(selling.Config{Store: sharedStale{stale{gate: gate}, new(atomic.Bool)}})
		buy := func(id string) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, _, err := s.Deduct(ctx, sku, stock.Order{OrderID: id, BuyerID: "b", Quantity: 1})
			return err
		}
		if err := buy("first"); err != nil { // by itself: the terms are not known
			t.Fatal(err)
		}
		start := time.Now()
		if err := buy("shared"); !errors.Is(err, stock.ErrUnwritten) {
			t.Errorf("got %v, want %v", err, stock.ErrUnwritten)
		}
		if took := time.Since(start); took > selling.DefaultAnswerWithin {
			t.Errorf("answered after %v, want %v", took, selling.DefaultAnswerWithin)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_ = s.Close(ended)
	})
}
