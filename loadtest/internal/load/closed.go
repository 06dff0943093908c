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
	buyers := make([]buyer, callers)
	var back sync.WaitGroup
	start := time.Now().Add(warmUp)
	for i := range buyers {
		back.Go(func() { buyers[i].buy(ctx, sku, start, start.Add(window), sell) })
	}
	back.Wait()
	s := Sale{Took: time.Since(start), Window: window, Waits: latency.New()}
	failed, first := 0, error(nil)
	for _, b := range buyers {
		s.Counts, s.Unheard, s.InTime = s.Counts.Plus(b.counts), s.Unheard+b.unheard, s.InTime+b.inTime
		s.Timeline = s.Timeline.add(b.timeline)
		for _, wait := range b.waits {
			s.Waits.Record(wait)
		}
		if b.err != nil {
			failed, first = failed+1, b.err
		}
	}
	if failed > 0 {
		return s, fmt.Errorf("%d of %d callers failed, one with: %w", failed, callers, first)
	}
	return s, nil
}

// buyer is one who buys again and again.
type buyer struct {
	counts   Counts
	unheard  int64
	inTime   int64 // accepted within the window
	timeline Timeline
	waits    []time.Duration // that ended after the warm-up
	err      error
}

// buy buys until the window is over or something goes wrong.
func (b *buyer) buy(ctx context.Context, sku string, began, end time.Time, sell Seller) {
	// A context each, as requests have: one for all would be a lock that all of them meet at.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for start := time.Now(); start.Before(end) && ctx.Err() == nil; {
		became, err := sell(ctx, Order{sku, uuid.NewString(), end})
		now := time.Now()
		if err != nil {
			b.unheard++
			if ctx.Err() == nil {
				b.err = err
			}
			return
		}
		b.counts[became]++
		switch became {
		case Accepted:
			b.accepted(start, now, began, end)
		case GaveUp:
			b.waited(start, now, began) // and would have longer
		}
		start = now
	}
}

// accepted notes what was, but in the warm-up.
func (b *buyer) accepted(asked, answered, began, end time.Time) {
	b.waited(asked, answered, began)
	if answered.Before(began) {
		return
	}
	b.timeline.note(answered.Sub(began))
	if !answered.After(end) {
		b.inTime++
	}
}

// waited notes how long somebody has, also beyond the window, but in the warm-up.
func (b *buyer) waited(asked, answered, began time.Time) {
	if !answered.Before(began) {
		b.waits = append(b.waits, answered.Sub(asked))
	}
}
