package load

import (
	"iter"
	"math"
	"slices"
	"time"

	"inventory/internal/latency"
)

// Latency is how long a request took from its planned time; without an answer, until it was given up.
func (r *Result) Latency(i int) time.Duration { return r.Replies[i].Over - r.At[i] }

// Lag is how long after its planned time a request was sent.
func (r *Result) Lag(i int) time.Duration { return r.Replies[i].Sent - r.At[i] }

// Forever is later than all that is due.
const Forever = time.Duration(math.MaxInt64)

// due are the requests that were due between two times, the latter excluded.
func (r *Result) due(from, to time.Duration) iter.Seq2[int, Reply] {
	return func(yield func(int, Reply) bool) {
		for i, at := range r.At {
			if at >= from && at < to && !yield(i, r.Replies[i]) {
				return
			}
		}
	}
}

// Latencies are those of the answers of some outcomes, from their planned times.
func (r *Result) Latencies(some ...Outcome) *latency.Histogram {
	return r.LatenciesIn(0, Forever, some...)
}

// LatenciesIn are those of the answers of some outcomes to the requests that were due between two times.
func (r *Result) LatenciesIn(from, to time.Duration, some ...Outcome) *latency.Histogram {
	h := latency.New()
	for i, reply := range r.due(from, to) {
		if slices.Contains(some, reply.Outcome) {
			h.Record(r.Latency(i))
		}
	}
	return h
}

// All are the latencies of all requests that were due between two times, also of those without an answer.
func (r *Result) All(from, to time.Duration) *latency.Histogram {
	return r.LatenciesIn(from, to, Outcomes()...)
}

// Lags are the lags of all requests that were due between two times and sent, and of those for which a connection was free
// in time.
func (r *Result) Lags(from, to time.Duration) (all, own *latency.Histogram) {
	all, own = latency.New(), latency.New()
	for i, reply := range r.due(from, to) {
		if reply.Sent > 0 {
			all.Record(r.Lag(i))
		}
		if reply.Sent > 0 && !reply.Queued {
			own.Record(r.Lag(i))
		}
	}
	return all, own
}

// Counts counts the requests that were due between two times.
func (r *Result) Counts(from, to time.Duration) (c Counts) {
	for _, reply := range r.due(from, to) {
		c[reply.Outcome]++
	}
	return c
}

// Slot is a short time of a run.
type Slot struct {
	From    time.Duration
	Offered int64  // requests that were due in it
	Answers Counts // answers that came in it, and requests that were given up in it
	// P50 and P99 are of the latencies of all requests that were due in it; 0 where there is none.
	P50, P99 time.Duration
}

// Width returns how long slots should be: 100 ms, or more where that would make more than 200 of them.
func Width(all time.Duration) time.Duration {
	const least, most = 100 * time.Millisecond, 200
	return max(least, (all / most).Round(least))
}

// Slots cuts the run into slots, as far as it went.
func (r *Result) Slots(width time.Duration) []Slot {
	slots := make([]Slot, max(r.Elapsed, 0)/width+1)
	waits := make([][]time.Duration, len(slots))
	for i, reply := range r.Replies {
		due := int(r.At[i] / width)
		if due < len(slots) {
			slots[due].Offered++
		}
		if reply.Outcome == NotSent {
			continue
		}
		slots[reply.Over/width].Answers[reply.Outcome]++
		waits[due] = append(waits[due], r.Latency(i))
	}
	for n := range slots {
		s := &slots[n]
		s.From = time.Duration(n) * width
		s.P50, s.P99 = quantile(waits[n], 50), quantile(waits[n], 99)
	}
	return slots
}

// quantile is the time that a share of all, in percent, stays within.
func quantile(times []time.Duration, percent float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[max(int(math.Ceil(percent/100*float64(len(times)))), 1)-1]
}
