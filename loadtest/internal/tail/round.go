package tail

import (
	"context"
	"math"
	"slices"
	"time"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/gauges"
	"inventory/loadtest/internal/openloop"
)

// Round is what became of a tail.
type Round struct {
	Number   int     `json:"round"`
	Killed   bool    `json:"killed"`   // whether a holder was to be killed
	Segments []int64 `json:"segments"` // what each held when the first buyer came

	Offered   int64   `json:"offered"`           // orders that were due
	Sold      int64   `json:"sold"`              // orders that have their units
	SoldUnits int64   `json:"sold_units"`        //
	LastUnit  float64 `json:"last_unit_seconds"` // when the last unit was sold, since the first buyer; 0: it was not
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
	wrong  []string
}

// Doubts are requests of which nobody knows what became, and what those who asked again under the same order id were told.
type Doubts struct {
	Count    int64 `json:"count"`
	Replayed int64 `json:"replayed"` // 200: it had been sold to them
	Accepted int64 `json:"accepted"` // 201: it had not
	Refused  int64 `json:"refused"`
}

// add counts one.
func (d *Doubts) add(final openloop.Outcome) {
	d.Count++
	switch final {
	case openloop.Replayed:
		d.Replayed++
	case openloop.Accepted:
		d.Accepted++
	case openloop.SoldOut, openloop.InsufficientStock:
		d.Refused++
	}
}

// Waits are how long buyers who got their units waited, from when they came.
type Waits struct {
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
	Max float64 `json:"max_ms"`
}

// window is how long after a kill latencies are told apart: what the lease of a lock is.
const window = 5 * time.Second

// account works out what a course comes to.
func (s *shop) account(ctx context.Context, c *course, r Round) (Round, error) {
	rows, err := s.rows(ctx, c.sku)
	if err != nil {
		return r, err
	}
	r.course, r.wrong = c, c.against(rows)
	counts := c.result.All()
	r.Offered = int64(len(c.result.At))
	r.SoldOut, r.Short = counts[openloop.SoldOut], counts[openloop.InsufficientStock]
	r.Overloaded, r.Dropped = counts[openloop.Overloaded], counts[openloop.Dropped]
	r.NeverTold = counts[openloop.Unknown] + counts[openloop.Failed] + counts[openloop.Unreached]
	r.sales(s.Stock/part, rows)
	r.again()
	r.service()
	r.waits()
	_, own := c.result.Lags()
	r.LagP99 = compare.Milliseconds(own.Quantile(99))
	return r, nil
}

// sales is what was sold, and who was refused.
func (r *Round) sales(tail int64, rows map[string]int64) {
	c := r.course
	var sales []sale
	var refusals []refusal
	var last time.Duration
	for i, reply := range c.result.Replies {
		w := c.orders.all[i]
		_, sold := rows[w.id]
		switch {
		case sold:
			to := reply.Over
			if reply.Outcome.Open() {
				to = math.MaxInt64 - 1 // nobody was told
			} else {
				last = max(last, to)
			}
			sales = append(sales, sale{reply.Sent, to, w.quantity})
			r.Sold, r.SoldUnits = r.Sold+1, r.SoldUnits+w.quantity
		case reply.Outcome == openloop.SoldOut || reply.Outcome == openloop.InsufficientStock:
			refusals = append(refusals, refusal{reply.Over, w.quantity})
		}
	}
	r.Left = c.levels[len(c.levels)-1].sum()
	if r.Left == 0 {
		r.LastUnit = last.Seconds()
	}
	if slices.ContainsFunc(refusals, func(f refusal) bool { return f.units <= r.Left }) {
		r.Stranded = r.Left
	}
	r.FalseRefusals, r.MaybeTrue = judge(tail, sales, refusals)
	r.LongestGap, r.GapAfter = compare.Milliseconds(longestGap(sales, 0)), compare.Milliseconds(longestGap(sales, r.mark()))
}

// mark is when the holder was killed, or half was sold where nobody was.
func (r *Round) mark() time.Duration {
	if s := r.course.strike; s != nil {
		return time.Duration(s.At * float64(time.Second))
	}
	return r.course.halfSold
}

// again is what became of those who asked again.
func (r *Round) again() {
	for i, first := range r.course.first {
		final := r.course.result.Replies[i].Outcome
		switch {
		case first.Outcome == openloop.Unreached:
			r.SentElsewhere++
		case first.Sent <= r.mark():
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
		if merges := readings.Merges(); !math.IsNaN(merges) {
			r.Merges += merges
		}
		add(&waits, readings.LockWait())
	}
	r.LockWaits = waits.Count
	if waits.Count > 0 {
		r.LockMean, r.LockP99 = 1e3*waits.Mean(), 1e3*waits.Quantile(0.99)
	}
}

// add adds a histogram of the same bounds.
func add(to *gauges.Histogram, h gauges.Histogram) {
	if math.IsNaN(h.Count) {
		return
	}
	if to.Bounds == nil {
		to.Bounds, to.Within = h.Bounds, make([]float64, len(h.Bounds))
	}
	to.Count, to.Sum = to.Count+h.Count, to.Sum+h.Sum
	for i := range h.Within {
		to.Within[i] += h.Within[i]
	}
}

// waits is how long buyers waited, before and after.
func (r *Round) waits() {
	mark := r.mark()
	r.HalfSold, r.Strike = r.course.halfSold.Seconds(), r.course.strike
	r.Before, r.After = r.course.waits(0, mark), r.course.waits(mark, mark+window)
}

// waits are those of buyers who came between two moments and got their units.
func (c *course) waits(from, to time.Duration) Waits {
	var all []float64
	for i, reply := range c.result.Replies {
		served := reply.Outcome == openloop.Accepted || reply.Outcome == openloop.Replayed
		if at := c.result.At[i]; served && at >= from && at < to {
			all = append(all, compare.Milliseconds(c.result.Latency(i)))
		}
	}
	slices.Sort(all)
	return Waits{quantile(all, 0.5), quantile(all, 0.99), quantile(all, 1)}
}

// quantile is the least of sorted values that a share of all stays within; 0 of none.
func quantile(sorted []float64, share float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(int(math.Ceil(share*float64(len(sorted)))), 1)-1]
}
