package flashsale

import (
	"math"
	"time"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
)

// account has the results of a round, from its answers and its rows. Its exported fields are members of the report.
type account struct {
	SKU      string           `json:"sku"`
	Requests map[string]int64 `json:"requests"` // by outcome
	Codes    map[string]int64 `json:"codes"`    // of refusals and failures that are no outcome of their own
	Units    int64            `json:"units_sold"`
	Rows     int              `json:"orders_in_rows"`
	Told     int              `json:"orders_told"`               // with an answer that they were sold
	NotHeard int              `json:"orders_not_heard"`          // in the rows, without such an answer
	SoldOut  float64          `json:"sold_out_seconds,omitzero"` // after the opening; 0: units were left
	Stranded int64            `json:"stranded"`
	Falsely  history.Bounds   `json:"false_sold_outs"`
	Merges   int64            `json:"merges"`

	counts  load.Counts
	stock   history.SKU
	soldOut time.Duration // from the opening to the answer that sold the last unit; never: units were left
	planned time.Duration // from the opening until enough orders for all units were due; never: there were not enough
	firstNo time.Duration // from the start to the first refusal for want of stock; never: there was none
	early   int64         // orders accepted before the opening, by the clock of this program
	late    int64         // orders sent after the opening and refused as too early, by the same clock
}

// never is later than everything.
const never = load.Forever

// settle computes the results of a round.
func (r *round) settle(rows history.Rows, found history.Findings) {
	a := &r.account
	a.counts, a.Codes = r.result.Counts(0, never), r.result.Codes()
	a.Requests, a.Falsely, a.Stranded = a.counts.ByName(), found.Refusals[r.SKU].False, found.Refusals[r.SKU].Stranded
	a.soldOut, a.planned, a.firstNo = never, never, never
	a.stock, a.Rows, a.Units = rows.Of(r.SKU)
	a.Merges = a.stock.Merges
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
		case reply.Outcome.Short():
			a.firstNo = min(a.firstNo, reply.Over)
		}
	}
	a.Told, a.NotHeard = len(told), max(0, a.Rows-len(told))
	if a.stock.Initial > 0 && a.stock.Available == 0 && a.Told > 0 {
		a.soldOut = last - r.opening
		a.SoldOut = a.soldOut.Seconds()
	}
}

// oversold are the units sold beyond the stock.
func (a account) oversold() int64 { return max(0, a.Units-a.stock.Initial) }

// behind is how much later the last unit was sold than enough orders were due, in milliseconds. NaN where units were left.
func (a account) behind() float64 {
	if a.soldOut == never || a.planned == never {
		return math.NaN()
	}
	return compare.Milliseconds(a.soldOut - a.planned)
}
