package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"inventory/internal/latency"
)

// Sale is what callers have bought in a closed loop.
type Sale struct {
	Counts    Counts             `json:"counts"`  // with those of the warm-up
	InTime    int64              `json:"in_time"` // accepted within the window
	Window    time.Duration      `json:"window"`
	Unheard   int64              `json:"unheard"` // orders whose callers were sent away before they had an answer
	Took      time.Duration      `json:"took"`    // until the last has come back
	Waits     *latency.Histogram `json:"waits"`   // until orders were accepted; at least, of those who gave up
	Timeline  Timeline           `json:"timeline"`
	Lanes     Lanes              `json:"lanes"`      // of a process of its own, with the warm-up; so is the next
	GCPercent uint64             `json:"gc_percent"` // how far the heap may grow: GOGC
}

// note counts what an order of a caller came to, by times since the window began. Who gave up would have waited longer.
func (s *Sale) note(r Reply) {
	s.Counts[r.Outcome]++
	if r.Over < 0 || r.Outcome != Accepted && r.Outcome != GaveUp {
		return
	}
	if s.Waits.Record(r.Over - r.Sent); r.Outcome == Accepted {
		s.Timeline.note(r.Over)
		if r.Over <= s.Window {
			s.InTime++
		}
	}
}

// Together is what callers of several processes have bought of one SKU.
func Together(sales []Sale) Sale {
	all := Sale{Waits: latency.New()}
	for _, s := range sales {
		all.Counts, all.Unheard = all.Counts.Plus(s.Counts), all.Unheard+s.Unheard
		all.InTime, all.Took, all.Window = all.InTime+s.InTime, max(all.Took, s.Took), max(all.Window, s.Window)
		all.GCPercent = s.GCPercent
		all.Waits.Add(s.Waits)
		all.Timeline = all.Timeline.add(s.Timeline)
		all.Lanes = all.Lanes.Add(s.Lanes)
	}
	return all
}

// Step is how finely a timeline tells time.
const Step = 50 * time.Millisecond

// Timeline counts what was accepted in each step since the sale began.
type Timeline []int64

// note counts one that was accepted so long after the beginning.
func (t *Timeline) note(after time.Duration) {
	step := int(after / Step)
	for len(*t) <= step {
		*t = append(*t, 0)
	}
	(*t)[step]++
}

func (t Timeline) add(o Timeline) Timeline {
	for len(t) < len(o) {
		t = append(t, 0)
	}
	for i, n := range o {
		t[i] += n
	}
	return t
}

// PerSecond is how much was accepted a second in the whole steps between two times.
func (t Timeline) PerSecond(from, to time.Duration) float64 {
	first, last := int((from+Step-1)/Step), int(to/Step)
	if last <= first {
		return 0
	}
	var sum int64
	for step := first; step < min(last, len(t)); step++ {
		sum += t[step]
	}
	return float64(sum) / (time.Duration(last-first) * Step).Seconds()
}

// Order asks for one unit.
type Order struct {
	SKU, ID string
	// End is when the window is over: who still waits for a lock then gives up.
	End time.Time
}

// Seller takes the unit of an order.
type Seller func(ctx context.Context, o Order) (Outcome, error)

// Buy is a closed loop: it lets callers buy until the window is over, or ctx ends, and waits for them. The end of ctx is no
// failure: the sale is shorter then. Before the window they buy to warm up, which counts for the audit alone.
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
