package flashsale

import (
	"math"
	"time"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
)

// account has the results of a round, from its answers and its rows.
type account struct {
	counts   load.Counts
	stock    history.SKU
	refusals history.Refusals // for want of units
	units    int64            // sold, by the rows
	told     int              // orders with an answer that they were sold
	soldOut  time.Duration    // from the opening to the answer that sold the last unit; never: units were left
	planned  time.Duration    // from the opening until enough orders for all units were due; never: there were not enough
	early    int64            // orders accepted before the opening, by the clock of this program
	late     int64            // orders sent after the opening and refused as too early, by the same clock
}

// never is later than everything.
const never = load.Forever

// settle computes the results of a round.
func (r *round) settle(rows history.Rows, found history.Findings) {
	a := &r.account
	a.counts, a.refusals = r.result.Counts(0, never), found.Refusals[r.sku]
	a.soldOut, a.planned = never, never
	a.stock, a.units = rows.Of(r.sku)
	told := make(map[int]bool) // by the first request of an order
	var last time.Duration
	var wanted int64
	for i, reply := range r.result.Replies {
		if reply.Outcome.Done() && !told[r.first[i]] {
			told[r.first[i]], last = true, max(last, reply.Over)
		}
		if r.first[i] == i && r.load.At[i] >= r.opening && a.planned == never {
			if wanted += r.load.Operations[i].Lines[0].Quantity; wanted >= a.stock.Initial {
				a.planned = r.load.At[i] - r.opening
			}
		}
		switch {
		case reply.Outcome == load.Accepted && reply.Over < r.opening: // the clocks of the service and of this program differ
			a.early++
		case reply.Outcome == load.SaleClosed && reply.Sent > r.opening: // so here
			a.late++
		}
	}
	if a.told = len(told); a.stock.Initial > 0 && a.stock.Available == 0 && a.told > 0 {
		a.soldOut = last - r.opening
	}
}

// oversold are the units sold beyond the stock.
func (a account) oversold() int64 { return max(0, a.units-a.stock.Initial) }

// behind is how much later the last unit was sold than enough orders were due, in milliseconds. NaN where units were left.
func (a account) behind() float64 {
	if a.soldOut == never || a.planned == never {
		return math.NaN()
	}
	return compare.Milliseconds(a.soldOut - a.planned)
}
