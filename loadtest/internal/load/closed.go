package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"inventory/internal/latency"
)

// Order asks for one unit.
type Order struct {
	SKU, ID string
	// End is when the window is over: who still waits for a lock then gives up.
	End time.Time
}

// Seller takes the unit of an order.
type Seller func(ctx context.Context, o Order) (Outcome, error)

// Buy is a closed loop: it lets callers buy until the window is over, or ctx ends, and waits for them. The end of ctx is no failure: the sale is
// shorter then. Before the window they buy to warm up, which counts for the audit alone.
func Buy(ctx context.Context, sku string, callers int, warmUp, window time.Duration, sell Seller) (Sale, error) {
	s := Sale{Window: window, Waits: latency.New()}
	failed, first := 0, error(nil)
	var all sync.Mutex
	var back sync.WaitGroup
	start := time.Now().Add(warmUp)
	for range callers {
		back.Go(func() {
			replies, unheard, err := buy(ctx, sku, start, start.Add(window), sell)
			took := time.Since(start)
			all.Lock()
			defer all.Unlock()
			s.Took = max(s.Took, took)
			for _, r := range replies {
				s.note(r)
			}
			if s.Unheard += unheard; err != nil {
				failed, first = failed+1, err
			}
		})
	}
	back.Wait()
	if failed > 0 {
		return s, fmt.Errorf("%d of %d callers failed, one with: %w", failed, callers, first)
	}
	return s, nil
}

// buy buys again and again until the window is over or something goes wrong, and tells how many orders were not heard of.
func buy(ctx context.Context, sku string, began, end time.Time, sell Seller) (replies []Reply, unheard int64, err error) {
	// A context each, as requests have: one for all would be a lock that all of them meet at.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for start := time.Now(); start.Before(end) && ctx.Err() == nil; {
		became, err := sell(ctx, Order{sku, uuid.NewString(), end})
		now := time.Now()
		switch {
		case err != nil && ctx.Err() != nil: // sent away
			return replies, 1, nil
		case err != nil:
			return replies, 1, err
		}
		replies = append(replies, Reply{Sent: start.Sub(began), Over: now.Sub(began), Outcome: became})
		start = now
	}
	return replies, 0, nil
}
