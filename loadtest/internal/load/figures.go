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
