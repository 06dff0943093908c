package tail

import (
	"math"
	"slices"
	"time"

	"inventory/internal/latency"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/gauges"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
)

// Round is what became of a tail.
type Round struct {
	Number   int       `json:"round"`
	Killed   bool      `json:"killed"`   // whether a holder was to be killed
	Segments []float64 `json:"segments"` // what each held when the first buyer came

	Offered   int64   `json:"offered"`           // orders that were due
	Sold      int64   `json:"sold"`              // orders that have their units
	SoldUnits int64   `json:"sold_units"`        //
	LastUnit  float64 `json:"last_unit_seconds"` // when the last unit was sold, since the first buyer; 0: it was not
	Behind    float64 `json:"behind_plan_ms"`    // that is so long after enough orders for it were due
	Left      int64   `json:"left"`              // units
	Stranded  int64   `json:"stranded"`          // of those, if somebody was refused who wanted no more

	SoldOut       int64  `json:"sold_out"`
	Short         int64  `json:"insufficient_stock"`
	Overloaded    int64  `json:"overloaded"`
	Dropped       int64  `json:"dropped"`          // that the generator did not send
	FalseRefusals int    `json:"false_refusals"`   // for certain
	MaybeTrue     int    `json:"undecided"`        // refusals of which it is not known
	InFlight      Doubts `json:"in_flight"`        // sent before the kill, and never answered
	SentToTheDead Doubts `json:"sent_to_the_dead"` // sent after it, over connections that were known for dead only then
	SentElsewhere int64  `json:"sent_elsewhere"`   // found no connection to the dead, and were sent to another
	NeverTold     int64  `json:"never_told"`       // also after asking again

	Merges     float64 `json:"merges"`
	LockWaits  float64 `json:"lock_waits"`
	LockMean   float64 `json:"lock_wait_mean_ms"`
	LockP99    float64 `json:"lock_wait_p99_ms"`
	HalfSold   float64 `json:"half_sold_seconds"`
	Strike     *Strike `json:"strike"`
	Before     Waits   `json:"before"`               // of those who came until half was sold, or the holder killed
	After      Waits   `json:"after"`                // of those who came in the five seconds since
	LongestGap float64 `json:"longest_gap_ms"`       // between two sales, from the beginning to the last unit
	GapAfter   float64 `json:"longest_gap_after_ms"` // that ended after half was sold, or the holder killed
	LagP99     float64 `json:"generator_lag_p99_ms"`

	course *course
}

// Doubts are requests of which nobody knows what became, and what those who asked again under the same order id were told.
type Doubts struct {
	Count    int64 `json:"count"`
	Replayed int64 `json:"replayed"` // 200: it had been sold to them
	Accepted int64 `json:"accepted"` // 201: it had not
	Refused  int64 `json:"refused"`
}

// add counts one.
func (d *Doubts) add(final load.Outcome) {
	d.Count++
	switch {
	case final == load.Replayed:
		d.Replayed++
	case final == load.Accepted:
		d.Accepted++
	case final.Short():
		d.Refused++
	}
}

// Waits are how long buyers who got their units waited, from when they came.
type Waits struct {
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
	Max float64 `json:"max_ms"`
}

func newWaits(h *latency.Histogram) Waits {
	return Waits{compare.Milliseconds(h.Quantile(50)), compare.Milliseconds(h.Quantile(99)), compare.Milliseconds(h.Max())}
}

// window is how long after a kill latencies are told apart: what the lease of a lock is.
const window = 5 * time.Second

// settle works out what a round comes to.
func (r *Round) settle(rows history.Rows, found history.Findings) {
	c := r.course
	counts := c.result.Counts(0, load.Forever)
	r.Offered = int64(len(c.result.At))
	r.SoldOut, r.Short = counts[load.SoldOut], counts[load.InsufficientStock]
	r.Overloaded, r.Dropped = counts[load.Overloaded], counts[load.Dropped]
	r.NeverTold = counts.Of(unanswered()...)
	stock, _, _ := rows.Of(c.sku)
	refusals := found.Refusals[c.sku]
	r.Left, r.Stranded = stock.Available, refusals.Stranded
	r.FalseRefusals, r.MaybeTrue = refusals.False.Least, refusals.False.Most-refusals.False.Least
	r.HalfSold, r.Strike = c.halfSold.Seconds(), c.strike
	mark := c.mark()
	r.sales(mark)
	r.again(mark)
	r.service()
	r.Before = newWaits(c.result.LatenciesIn(0, mark, load.Accepted, load.Replayed))
	r.After = newWaits(c.result.LatenciesIn(mark, mark+window, load.Accepted, load.Replayed))
	_, r.LagP99 = c.result.LagP99()
}

// unanswered are the outcomes of an order that was never told what became of it.
func unanswered() []load.Outcome { return []load.Outcome{load.Unknown, load.Failed, load.Unreached} }

// neverTold is the first order that was never told what became of it, with all its attempts.
func (c *course) neverTold() history.Operation {
	i := slices.IndexFunc(c.result.Replies, func(r load.Reply) bool { return slices.Contains(unanswered(), r.Outcome) })
	return c.result.Operations[i]
}

// mark is when the holder was killed, or half was sold where nobody was.
func (c *course) mark() time.Duration {
	if c.strike != nil {
		return time.Duration(c.strike.At * float64(time.Second))
	}
	return c.halfSold
}

// sales is what was sold, and when.
func (r *Round) sales(mark time.Duration) {
	var told []time.Duration
	var wanted, tail int64
	for _, units := range r.Segments {
		tail += int64(units)
	}
	due := time.Duration(-1) // when enough orders had come
	for i, reply := range r.course.result.Replies {
		quantity := r.course.result.Operations[i].Lines[0].Quantity
		if wanted += quantity; wanted >= tail && due < 0 {
			due = r.course.result.At[i]
		}
		if reply.Outcome.Done() {
			told = append(told, reply.Over)
			r.Sold, r.SoldUnits = r.Sold+1, r.SoldUnits+quantity
		}
	}
	slices.Sort(told)
	if r.Left == 0 && len(told) > 0 {
		last := told[len(told)-1]
		r.LastUnit, r.Behind = last.Seconds(), compare.Milliseconds(last-due)
	}
	r.LongestGap, r.GapAfter = compare.Milliseconds(longestGap(told, 0)), compare.Milliseconds(longestGap(told, mark))
}

// longestGap is the longest time between two answers that sold something, and from 0 to the first, among those that end
// after a moment.
func longestGap(told []time.Duration, after time.Duration) (longest time.Duration) {
	var last time.Duration
	for _, at := range told {
		if at > after {
			longest = max(longest, at-last)
		}
		last = at
	}
	return longest
}

// again is what became of those who asked again because a process had died.
func (r *Round) again(mark time.Duration) {
	if r.course.strike == nil {
		return
	}
	for i, o := range r.course.result.Operations {
		if len(o.Attempts) < 2 {
			continue
		}
		final := r.course.result.Replies[i].Outcome
		switch first := o.Attempts[0]; {
		case first.NotSent:
			r.SentElsewhere++
		case first.Sent.Sub(r.course.result.Start) <= mark:
			r.InFlight.add(final)
		default:
			r.SentToTheDead.add(final)
		}
	}
}

// service is what the processes told of themselves. What one that was killed did since it was asked last is missing.
func (r *Round) service() {
	var waits gauges.Histogram
	for _, readings := range r.course.readings {
		if merges := readings.Grown(gauges.Merges); !math.IsNaN(merges) {
			r.Merges += merges
		}
		if h := readings.LockWait(); !math.IsNaN(h.Count) {
			add(&waits, h)
		}
	}
	r.LockWaits = waits.Count
	if waits.Count > 0 {
		r.LockMean, r.LockP99 = 1e3*waits.Mean(), 1e3*waits.Quantile(0.99)
	}
}

// add adds a histogram of the same bounds.
func add(to *gauges.Histogram, h gauges.Histogram) {
	if to.Bounds == nil {
		to.Bounds, to.Within = h.Bounds, make([]float64, len(h.Bounds))
	}
	to.Count, to.Sum = to.Count+h.Count, to.Sum+h.Sum
	for i := range h.Within {
		to.Within[i] += h.Within[i]
	}
}
