package contenders

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"inventory/internal/latency"
)

// order asks for one unit.
type order struct {
	sku, id string
	// end is when the window is over: who still waits for a lock then gives up.
	end time.Time
}

// outcome is what became of an order.
type outcome int

const (
	accepted outcome = iota
	refused
	gaveUp
)

// seller takes the unit of an order.
type seller func(ctx context.Context, o order) (outcome, error)

// buyer is one who buys again and again.
type buyer struct {
	counts counts
	waits  []time.Duration // of what was accepted
	err    error
}

// sale is what a crowd has bought.
type sale struct {
	Counts counts             `json:"counts"`
	Took   time.Duration      `json:"took"` // until the last has come back
	Waits  *latency.Histogram `json:"waits"`
}

// crowd lets callers buy until the window is over, and waits for them.
func crowd(ctx context.Context, sku string, callers int, window time.Duration, sell seller) (sale, error) {
	buyers := make([]buyer, callers)
	var back sync.WaitGroup
	start := time.Now()
	for i := range buyers {
		back.Go(func() { buyers[i].buy(ctx, sku, start.Add(window), sell) })
	}
	back.Wait()
	s := sale{Took: time.Since(start), Waits: latency.New()}
	failed, first := 0, error(nil)
	for _, b := range buyers {
		s.Counts = s.Counts.add(b.counts)
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

// buy buys until the window is over or something goes wrong.
func (b *buyer) buy(ctx context.Context, sku string, end time.Time, sell seller) {
	// A context each, as requests have: one for all would be a lock that all of them meet at.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for start := time.Now(); start.Before(end); {
		became, err := sell(ctx, order{sku, uuid.NewString(), end})
		now := time.Now()
		if err != nil {
			b.err = err
			return
		}
		switch became {
		case accepted:
			b.counts.Accepted++
			b.waits = append(b.waits, now.Sub(start))
		case refused:
			b.counts.Refused++
		case gaveUp:
			b.counts.GaveUp++
		}
		start = now
	}
}

// round is the sale as a round of a contender.
func (s sale) round(sku string) round {
	return round{sku: sku, counts: s.Counts, took: s.Took, p50: s.Waits.Quantile(50), p99: s.Waits.Quantile(99)}
}
