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
	falsely  history.Bounds
	stranded int64
	retried  [standings]load.Counts
	early    int64 // accepted before the sale opened, by the clock of this program
	late     int64 // turned away as too early although sent after the sale opened, by the same clock
}

// never is later than everything.
const never = load.Forever

// standing is what a buyer knew of an order when it was asked for again.
type standing int

const (
	winner    standing = iota // it had been accepted
	refused                   // it had been refused each time
	undecided                 // no answer had come, or none ever did
	standings
)

func (s standing) String() string {
	return [...]string{"of winners", "of the refused", "not decided then"}[s]
}

// fate is what became of an order, over the requests for it so far.
type fate struct {
	heard      time.Duration // when the first answer came that it is accepted; never: none did
	over       time.Duration // when the latest of its requests was over
	sent, open bool          // one was; the outcome of one is not known
}

// standing is that of the order at a time.
func (f *fate) standing(at time.Duration) standing {
	switch {
	case f.heard <= at:
		return winner
	case f.sent && !f.open && f.over <= at && f.heard == never:
		return refused
	}
	return undecided
}

// add adds a request.
func (f *fate) add(r load.Reply) {
	if r.Sent == 0 {
		return
	}
	f.sent, f.open, f.over = true, f.open || r.Outcome.Open(), max(f.over, r.Over)
	if r.Outcome.Done() {
		f.heard = min(f.heard, r.Over)
	}
}

// settle sums a round up.
func (r *round) settle(rows history.Rows, found history.Findings) {
	a := &r.account
	a.counts, a.stock, a.falsely, a.stranded = r.result.Counts(0, never), rows.SKU(r.sku), found.False, found.Stranded
	a.soldOut, a.planned, a.firstNo = never, never, never
	a.rows, a.units = len(rows.Deductions), rows.Units(r.sku)
	fates := make([]fate, len(r.load.At))
	for i := range fates {
		fates[i].heard = never
	}
	var wanted int64
	for i, reply := range r.result.Replies {
		f := &fates[r.first[i]]
		if r.first[i] != i && reply.Outcome != load.NotSent {
			a.retried[f.standing(reply.Sent)][reply.Outcome]++
		}
		if r.first[i] == i && r.load.At[i] >= r.opening && a.planned == never {
			if wanted += r.load.Operations[i].Lines[0].Quantity; wanted >= a.stock.Initial {
				a.planned = r.load.At[i] - r.opening
			}
		}
		f.add(reply)
		r.clocks(reply)
	}
	var last time.Duration
	for _, f := range fates {
		if f.heard != never {
			a.told++
			last = max(last, f.heard)
		}
	}
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
