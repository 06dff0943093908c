package replay

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
)

// Result counts lines of the file, each of them once, and the units that were sold.
type Result struct {
	Lines, Accepted, SoldOut, InsufficientStock, Restocked, LeftOut int

	Errors     int // without an answer, or with a wrong one
	Unanswered int // not sent, or without an answer, when the replay was stopped
	UnitsSold  int64
}

// SKUTotals are the units of one SKU: as answered, and what the rows have left.
type SKUTotals struct{ Sold, Restocked, Left int64 }

// Totals are those of every SKU, by its name in the file.
func (r *Replay) Totals() map[string]SKUTotals { return r.totals }

// sum sums up the answers and the rows.
func (r *Replay) sum() {
	r.Lines, r.LeftOut, r.totals = r.plan.Lines, r.plan.LeftOut, map[string]SKUTotals{}
	for _, s := range r.Rows.SKUs {
		r.totals[strings.TrimPrefix(s.Name, r.Drill.Prefix)] = SKUTotals{Left: s.Available}
		r.merges += s.Merges
	}
	for i, q := range r.plan.Requests {
		lines := r.linesOf(i)
		*lines += q.Stands
		for _, line := range q.Lines {
			of := r.totals[line.SKU]
			switch lines {
			case &r.Accepted:
				of.Sold += line.Quantity
				r.UnitsSold += line.Quantity
			case &r.Restocked:
				of.Restocked += line.Quantity
			}
			r.totals[line.SKU] = of
		}
	}
}

// linesOf is the count that the lines of the i-th request belong to.
func (r *Replay) linesOf(i int) *int {
	kind, became := r.All.Operations[i].Kind, r.All.Replies[i].Outcome
	switch {
	case became.Done() && kind == history.Restock:
		return &r.Restocked
	case became.Done():
		return &r.Accepted
	case became == load.SoldOut && kind.Takes():
		return &r.SoldOut
	case became == load.InsufficientStock && kind.Takes():
		return &r.InsufficientStock
	case r.Interrupted && became != load.Refused:
		return &r.Unanswered
	default:
		return &r.Errors
	}
}

// tell adds what became of the lines to the report.
func (r *Replay) tell() {
	all := r.All.All(0, load.Forever)
	perSecond := compare.Ratio(float64(all.Count()), r.All.Elapsed.Seconds())
	r.Summary, r.Sections = r.summary(perSecond), []report.Section{r.All.OutcomeSection()}
	r.Figures = []report.Figure{
		{Name: "requests", Unit: "/s", Value: perSecond},
		{Name: "p50", Unit: "ms", Value: compare.Milliseconds(all.Quantile(50))},
		{Name: "p99", Unit: "ms", Value: compare.Milliseconds(all.Quantile(99))},
		{Name: "units sold", Value: float64(r.UnitsSold)},
	}
	if r.Errors > 0 {
		r.Wrong = append(r.Wrong, fmt.Sprintf("%d lines failed, first: %v", r.Errors, r.firstError))
	}
}

func (r *Replay) summary(perSecond float64) []string {
	comma := func(n int) string { return humanize.Comma(int64(n)) }
	const day = "2 January 2006"
	var restocked, left int64
	for _, t := range r.totals {
		restocked, left = restocked+t.Restocked, left+t.Left
	}
	return []string{
		fmt.Sprintf("Replay of %s order lines, %s to %s, with %s SKUs, sent to %s.", comma(r.Lines),
			r.plan.From.Format(day), r.plan.To.Format(day), comma(len(r.plan.SKUs)), r.Environment.Target),
		fmt.Sprintf("%s lines accepted, %s sold out, %s short of stock, %s restocked, %s left out, %s failed, %s unanswered.", comma(r.Accepted), comma(r.SoldOut),
			comma(r.InsufficientStock), comma(r.Restocked), comma(r.LeftOut), comma(r.Errors), comma(r.Unanswered)),
		fmt.Sprintf("%s units sold, %s restocked, %s left; %s merges.", humanize.Comma(r.UnitsSold), humanize.Comma(restocked), humanize.Comma(left), humanize.Comma(r.merges)),
		fmt.Sprintf("%.2f s, %s requests a second.", r.All.Elapsed.Seconds(), report.Number(perSecond)),
	}
}
