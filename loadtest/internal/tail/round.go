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

// Round is the sale of one tail, and its results.
type Round struct {
	Number   int       `json:"round"`
	Killed   bool      `json:"killed"`   // a lock holder was to be killed
	Segments []float64 `json:"segments"` // units of each when the first buyer came

	Offered   int64   `json:"offered"`           // orders that were due
	Sold      int64   `json:"sold"`              // orders
	SoldUnits int64   `json:"sold_units"`        //
	LastUnit  float64 `json:"last_unit_seconds"` // when the last unit was sold, since the first buyer; 0: it was not
	Behind    float64 `json:"behind_plan_ms"`    // how long that is after enough orders for it were due
	Left      int64   `json:"left"`              // units
	Stranded  int64   `json:"stranded"`          // units left although an order for no more was refused

	SoldOut       int64  `json:"sold_out"`
	Short         int64  `json:"insufficient_stock"`
	Overloaded    int64  `json:"overloaded"`
	Dropped       int64  `json:"dropped"`          // by the generator
	FalseRefusals int    `json:"false_refusals"`   // for certain
	MaybeTrue     int    `json:"undecided"`        // refusals
	InFlight      Doubts `json:"in_flight"`        // sent before the kill, and not answered
	SentToTheDead Doubts `json:"sent_to_the_dead"` // sent after it, over connections not yet known to be broken
	SentElsewhere int64  `json:"sent_elsewhere"`   // found no connection to the dead process
	NeverTold     int64  `json:"never_told"`       // no final answer, also after retries

	Merges     float64 `json:"merges"`
	LockWaits  float64 `json:"lock_waits"`
	LockMean   float64 `json:"lock_wait_mean_ms"`
	LockP99    float64 `json:"lock_wait_p99_ms"`
	HalfSold   float64 `json:"half_sold_seconds"` // when half of the tail was sold; 0: never
	Strike     *Strike `json:"strike"`            // nil: no process was killed
	Before     Waits   `json:"before"`            // of orders due before the mark: half sold, or the holder killed
	After      Waits   `json:"after"`             // of orders due in the five seconds after it
	LongestGap float64 `json:"longest_gap_ms"`    // between two sales, from the beginning to the last unit
	GapAfter   float64 `json:"longest_gap_after_ms"`
	LagP99     float64 `json:"generator_lag_p99_ms"`

	sku      string
	result   *load.Result
	levels   []load.Stock
	readings []gauges.Readings // of each process
}

// Doubts are requests with unknown outcome, and the answers to their retries under the same order id.
type Doubts struct {
	Count    int64 `json:"count"`
	Replayed int64 `json:"replayed"` // 200: the first request had sold
	Accepted int64 `json:"accepted"` // 201: it had not
	Refused  int64 `json:"refused"`
}

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

// Waits are latencies of orders that got their units, from when they were due.
type Waits struct {
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
	Max float64 `json:"max_ms"`
}

func newWaits(h *latency.Histogram) Waits {
	return Waits{compare.Milliseconds(h.Quantile(50)), compare.Milliseconds(h.Quantile(99)), compare.Milliseconds(h.Max())}
}

// window is how long after the mark latencies are counted separately: the lease of a lock.
const window = 5 * time.Second

// settle computes the results of a round from its answers and rows.
func (r *Round) settle(rows history.Rows, found history.Findings) {
	counts, refusals := r.result.Counts(0, load.Forever), found.Refusals[r.sku]
	stock, _, _ := rows.Of(r.sku)
	r.Offered = int64(len(r.result.At))
	r.SoldOut, r.Short = counts[load.SoldOut], counts[load.InsufficientStock]
	r.Overloaded, r.Dropped = counts[load.Overloaded], counts[load.Dropped]
	r.NeverTold = counts.Of(unanswered()...)
	r.Left, r.Stranded = stock.Available, refusals.Stranded
	r.FalseRefusals, r.MaybeTrue = refusals.False.Least, refusals.False.Most-refusals.False.Least
	mark := r.mark()
	r.sales(mark)
	r.retries(mark)
	r.service()
	r.Before = newWaits(r.result.LatenciesIn(0, mark, load.Accepted, load.Replayed))
	r.After = newWaits(r.result.LatenciesIn(mark, mark+window, load.Accepted, load.Replayed))
	_, r.LagP99 = r.result.LagP99()
}

// unanswered are the outcomes of an order without a final answer.
func unanswered() []load.Outcome { return []load.Outcome{load.Unknown, load.Failed, load.Unreached} }

// mark is when the holder was killed, or else when half was sold.
func (r *Round) mark() time.Duration {
	seconds := r.HalfSold
	if r.Strike != nil {
		seconds = r.Strike.At
	}
	return time.Duration(seconds * float64(time.Second))
}

// sales counts the sales, and when they were answered.
func (r *Round) sales(mark time.Duration) {
	var answered []time.Duration
	var wanted, tail int64
	for _, units := range r.Segments {
		tail += int64(units)
	}
	due := time.Duration(-1) // when enough orders had come
	for i, reply := range r.result.Replies {
		quantity := r.result.Operations[i].Lines[0].Quantity
		if wanted += quantity; wanted >= tail && due < 0 {
			due = r.result.At[i]
		}
		if reply.Outcome.Done() {
			answered = append(answered, reply.Over)
			r.Sold, r.SoldUnits = r.Sold+1, r.SoldUnits+quantity
		}
	}
	slices.Sort(answered)
	if r.Left == 0 && len(answered) > 0 {
		last := answered[len(answered)-1]
		r.LastUnit, r.Behind = last.Seconds(), compare.Milliseconds(last-due)
	}
	r.LongestGap, r.GapAfter = compare.Milliseconds(longestGap(answered, 0)), compare.Milliseconds(longestGap(answered, mark))
}

// longestGap is the longest time between two sales, and from 0 to the first, among those that end after a moment.
func longestGap(answered []time.Duration, after time.Duration) (longest time.Duration) {
	var last time.Duration
	for _, at := range answered {
		if at > after {
			longest = max(longest, at-last)
		}
		last = at
	}
	return longest
}

// retries counts the orders that were sent again because a process had died.
func (r *Round) retries(mark time.Duration) {
	if r.Strike == nil {
		return
	}
	for i, o := range r.result.Operations {
		if len(o.Attempts) < 2 {
			continue
		}
		final := r.result.Replies[i].Outcome
		switch first := o.Attempts[0]; {
		case first.NotSent:
			r.SentElsewhere++
		case first.Sent.Sub(r.result.Start) <= mark:
			r.InFlight.add(final)
		default:
			r.SentToTheDead.add(final)
		}
	}
}

// service adds up the metrics of the processes. What a killed process did since its last reading is missing.
func (r *Round) service() {
	var waits gauges.Histogram
	for _, readings := range r.readings {
		if merges := readings.Grown(gauges.Merges); !math.IsNaN(merges) {
			r.Merges += merges
		}
		waits.Add(readings.LockWait())
	}
	if r.LockWaits = waits.Count; waits.Count > 0 {
		r.LockMean, r.LockP99 = 1e3*waits.Mean(), 1e3*waits.Quantile(0.99)
	}
}
