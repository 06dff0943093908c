package selling_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// stale is a store in which one buyer is at the limit with expired reservations, which it fails to give back.
type stale struct {
	endless
	entered chan struct{} // by the first write, which waits for the gate
	gate    chan struct{}
}

func (stale) Views(context.Context, ...string) (map[string]stock.View, error) {
	return map[string]stock.View{sku: {Layout: 1, Segments: []int64{1 << 30}, Terms: stock.Terms{PerBuyerLimit: 3}}}, nil
}

func (stale) Expire(context.Context, string, time.Time) (int, error) { return 0, stock.ErrGuard }

func (s stale) Deduct(ctx context.Context, b stock.Batch) (stock.BatchResult, error) {
	select {
	case s.entered <- struct{}{}:
	default:
	}
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
	store := stale{entered: make(chan struct{}, 1), gate: make(chan struct{})}
	s := selling.NewService(selling.Config{Store: store})
	ask := func(buyer string) error {
		_, _, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: "of-" + buyer, BuyerID: buyer, Quantity: 1})
		return err
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := ask("first"); err != nil {
			t.Error(err)
		}
	})
	<-store.entered
	for buyer, want := range map[string]stock.Code{"modest": "", "greedy": stock.CodeUnavailable} {
		wg.Go(func() {
			if code := stock.CodeOf(ask(buyer)); code != want {
				t.Errorf("%s: %q, want %q", buyer, code, want)
			}
		})
	}
	for pace := time.Tick(time.Millisecond); s.Waiting() < 2; <-pace {
	}
	close(store.gate)
	wg.Wait()
	ended, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Close(ended); err != nil {
		t.Fatal(err)
	}
}
