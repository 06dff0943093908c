package openloop

import (
	"math"
	"slices"
	"time"
)

// Slot is a short time of a run.
type Slot struct {
	From    time.Duration
	Offered int64  // requests that were due in it
	Sent    int64  // requests sent in it
	Heard   Counts // answers that came in it, and requests given up in it
	// P50 and P99 are of the latencies of the answers to the requests that were due in it; 0 where there is none.
	P50, P99 time.Duration
	LagP99   time.Duration // of the requests that were due in it and sent
}

// Width returns how long slots should be: 100 ms, or more where that would make more than 200 of them.
func Width(all time.Duration) time.Duration {
	const least, most = 100 * time.Millisecond, 200
	return max(least, (all / most).Round(least))
}

// Slots cuts the run into slots, as far as it went.
func (r *Result) Slots(width time.Duration) []Slot {
	slots := make([]Slot, max(r.Elapsed, 0)/width+1)
	for i, reply := range r.Replies {
		if due := int(r.At[i] / width); due < len(slots) {
			slots[due].Offered++
		}
		if reply.Outcome == NotSent {
			continue
		}
		slots[reply.Over/width].Heard[reply.Outcome]++
		if reply.Sent > 0 {
			slots[reply.Sent/width].Sent++
		}
	}
	for n := range slots {
		s := &slots[n]
		s.From = time.Duration(n) * width
		r.quantiles(s, s.From+width)
	}
	return slots
}

// quantiles are those of the requests due in a slot, exactly.
func (r *Result) quantiles(s *Slot, to time.Duration) {
	var waits, lags []time.Duration
	first, last := r.between(s.From, to)
	for i := first; i < last; i++ {
		if r.Replies[i].Outcome.Answered() {
			waits = append(waits, r.Latency(i))
		}
		if r.Replies[i].Sent > 0 {
			lags = append(lags, r.Lag(i))
		}
	}
	slices.Sort(waits)
	slices.Sort(lags)
	s.P50, s.P99, s.LagP99 = quantile(waits, 50), quantile(waits, 99), quantile(lags, 99)
}

// quantile is the least of sorted times that a share of all, in percent, stays within.
func quantile(sorted []time.Duration, percent float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	n := int(math.Ceil(percent / 100 * float64(len(sorted))))
	return sorted[max(n, 1)-1]
}
