package flashsale

import (
	"math"
	"time"

	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
)

// account is what came of a round: the answers beside the rows.
type account struct {
	counts   load.Counts
	stock    history.SKU
	units    int64         // sold, in the rows
	rows     int           // orders in the rows
	told     int           // orders that buyers were told of
	soldOut  time.Duration // from the opening to the answer that sold the last unit; never: units were left
	planned  time.Duration // from the opening until enough orders for all units were due; never: there were not
	firstNo  time.Duration // from the start to the first refusal for want of stock; never: none
	refusals history.Refusals
	early    int64 // accepted before the sale opened, by the clock of this program
	late     int64 // turned away as too early although sent after the sale opened, by the same clock
}

// never is later than everything.
const never = load.Forever

// settle sums a round up.
func (r *round) settle(rows history.Rows, found history.Findings) {
	a := &r.account
	a.counts, a.refusals = r.result.Counts(0, never), found.Refusals[r.sku]
	a.soldOut, a.planned, a.firstNo = never, never, never
	a.stock, a.rows, a.units = rows.Of(r.sku)
	told := make(map[int]bool) // by the request that asked first
	var last time.Duration
	var wanted int64
	for i, reply := range r.result.Replies {
		if reply.Outcome.Done() && !told[r.first[i]] { // a buyer knows from the first answer on
			told[r.first[i]], last = true, max(last, reply.Over)
		}
		if r.first[i] == i && r.load.At[i] >= r.opening && a.planned == never {
			if wanted += r.load.Operations[i].Lines[0].Quantity; wanted >= a.stock.Initial {
				a.planned = r.load.At[i] - r.opening
			}
		}
		r.clocks(reply)
	}
	a.told = len(told)
	if a.stock.Initial > 0 && a.stock.Available == 0 && a.told > 0 {
		a.soldOut = last - r.opening
	}
}

// clocks finds answers that the clocks of the service and of this program do not agree about, and the first refusal.
func (r *round) clocks(reply load.Reply) {
	a := &r.account
	switch {
	case reply.Outcome == load.Accepted && reply.Over < r.opening:
		a.early++
	case reply.Outcome == load.SaleClosed && reply.Sent > r.opening:
		a.late++
	case reply.Outcome.Short():
		a.firstNo = min(a.firstNo, reply.Over)
	}
}

// notHeard are the orders in the rows that no buyer was told of.
func (a account) notHeard() int { return max(0, a.rows-a.told) }

// oversold are the units sold beyond the stock.
func (a account) oversold() int64 { return max(0, a.units-a.stock.Initial) }

// behind is by how many milliseconds the last unit was sold after enough orders were due: when that was follows from the
// flags alone. No number where units were left.
func (a account) behind() float64 {
	if a.soldOut == never || a.planned == never {
		return math.NaN()
	}
	return float64(a.soldOut-a.planned) / float64(time.Millisecond)
}

// soldOutSeconds is the time from the opening to the answer that sold the last unit; no number where units were left.
func (a account) soldOutSeconds() float64 {
	if a.soldOut == never {
		return math.NaN()
	}
	return a.soldOut.Seconds()
}
