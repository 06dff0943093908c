package openloop

import (
	"cmp"
	"slices"
	"time"

	"inventory/internal/latency"
)

// Latency is how long a request took from its planned time.
func (r *Result) Latency(i int) time.Duration { return r.Replies[i].Over - r.At[i] }

// Lag is how long after its planned time a request was sent.
func (r *Result) Lag(i int) time.Duration { return r.Replies[i].Sent - r.At[i] }

// Latencies are those of the answers of an outcome, from their planned times.
func (r *Result) Latencies(o Outcome) *latency.Histogram {
	h := latency.New()
	for i, reply := range r.Replies {
		if reply.Outcome == o {
			h.Record(r.Latency(i))
		}
	}
	return h
}

// ServiceTimes are those of an outcome from when requests were in fact sent: what a closed loop would have measured.
func (r *Result) ServiceTimes(o Outcome) *latency.Histogram {
	h := latency.New()
	for _, reply := range r.Replies {
		if reply.Outcome == o && reply.Sent > 0 {
			h.Record(reply.Over - reply.Sent)
		}
	}
	return h
}

// Lags are the lags of all requests that were sent, and of those for which a connection was free in time.
func (r *Result) Lags() (all, own *latency.Histogram) {
	all, own = latency.New(), latency.New()
	for i, reply := range r.Replies {
		if reply.Sent == 0 {
			continue
		}
		all.Record(r.Lag(i))
		if !reply.Queued {
			own.Record(r.Lag(i))
		}
	}
	return all, own
}

// Counts are numbers of requests by what became of them.
type Counts [outcomes]int64

// Add adds others.
func (c *Counts) Add(other Counts) {
	for o, n := range other {
		c[o] += n
	}
}

// Answered counts those to which an answer came.
func (c Counts) Answered() (n int64) {
	for o := Accepted; o < outcomes; o++ {
		if o.Answered() {
			n += c[o]
		}
	}
	return n
}

// Sent counts those that were sent.
func (c Counts) Sent() int64 { return c.Answered() + c[Unknown] }

// Counts counts the requests that were due between two times.
func (r *Result) Counts(from, to time.Duration) (c Counts) {
	first, last := r.between(from, to)
	for _, reply := range r.Replies[first:last] {
		c[reply.Outcome]++
	}
	return c
}

// All counts all requests.
func (r *Result) All() (c Counts) {
	for _, reply := range r.Replies {
		c[reply.Outcome]++
	}
	return c
}

// between are the requests that were due between two times, the latter excluded.
func (r *Result) between(from, to time.Duration) (first, last int) {
	first, _ = slices.BinarySearchFunc(r.At, from, cmp.Compare[time.Duration])
	last, _ = slices.BinarySearchFunc(r.At, to, cmp.Compare[time.Duration])
	return first, last
}
