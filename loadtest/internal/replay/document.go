package replay

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"inventory/internal/latency"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
)

// Document is the report.
func (r *Replay) Document() (report.Document, error) {
	d, all := r.Head(), latency.New()
	for _, k := range r.kinds {
		all.Add(k.waits)
	}
	perSecond := compare.Ratio(float64(all.Count()), r.All.Elapsed.Seconds())
	d.Summary, d.Sections = r.summary(perSecond), []report.Section{r.section(all)}
	d.Figures = []report.Figure{
		{Name: "requests", Unit: "/s", Value: perSecond},
		{Name: "p50", Unit: "ms", Value: compare.Milliseconds(all.Quantile(50))},
		{Name: "p99", Unit: "ms", Value: compare.Milliseconds(all.Quantile(99))},
		{Name: "units sold", Value: float64(r.UnitsSold)},
	}
	return d, d.SetOwn(r.Result)
}

func comma[N int | int64](n N) string { return humanize.Comma(int64(n)) }

func (r *Replay) summary(perSecond float64) []string {
	const day = "2 January 2006"
	var sum SKUTotals
	for _, t := range r.totals {
		sum = SKUTotals{sum.Sold + t.Sold, sum.Restocked + t.Restocked, sum.Left + t.Left}
	}
	lines := []string{
		fmt.Sprintf("Replay of %s order lines, %s to %s, with %s SKUs, sent to %s.", comma(r.Lines),
			r.plan.From.Format(day), r.plan.To.Format(day), comma(len(r.plan.SKUs)), r.Environment.Target),
		fmt.Sprintf("%s units sold, %s restocked, %s left; %s merges.", comma(sum.Sold), comma(sum.Restocked), comma(sum.Left), comma(r.merges)),
		fmt.Sprintf("%.2f s, %s requests a second.", r.All.Elapsed.Seconds(), report.Number(perSecond)),
	}
	if len(r.Found.Violations) == 0 {
		return append(lines, "The rows hold what was answered, and every unit adds up.")
	}
	return append(lines, fmt.Sprintf("What was answered and the rows do not add up: %d problems.", len(r.Found.Violations)))
}

// section has a row for each outcome: lines and requests, and how long the answers took.
func (r *Replay) section(all *latency.Histogram) report.Section {
	table := &report.Table{Columns: append([]string{"", "lines", "requests"}, load.Percents()...)}
	plot := report.Plot{
		Name: "replay-latency", Title: "how long answers took, by outcome", Kind: report.Percentiles,
		X: report.Axis{Label: "percentile"}, Y: report.Axis{Label: "ms", Log: true},
	}
	row := func(name string, lines, requests int, waits *latency.Histogram) {
		table.Rows = append(table.Rows, append([]string{name, comma(lines), comma(requests)}, load.Cells(waits)...))
	}
	requests := 0
	for became, k := range r.kinds {
		if outcome(became) == unanswered && !r.Interrupted() {
			continue
		}
		row(outcome(became).String(), k.lines, k.requests, k.waits)
		requests += k.requests
		if k.waits.Count() > 0 {
			plot.Series = append(plot.Series, load.Percentiles(outcome(became).String(), k.waits))
		}
	}
	row("left out", r.LeftOut, 0, latency.New())
	row("all", r.Lines, requests, all)
	return report.Section{Name: "order lines", Table: table, Plots: []report.Plot{plot}}
}

// Result has the members of a replay's JSON. All but the units count lines of the file, and every line is in one member.
type Result struct {
	Lines             int   `json:"lines"`
	Accepted          int   `json:"accepted"`
	SoldOut           int   `json:"sold_out"`
	InsufficientStock int   `json:"insufficient_stock"`
	Restocked         int   `json:"restocked"`
	LeftOut           int   `json:"left_out"`
	Errors            int   `json:"errors"`
	Unanswered        int   `json:"unanswered"` // not sent, or without an answer, when the replay was stopped
	UnitsSold         int64 `json:"units_sold"`
}

// outcome is what became of a request.
type outcome int

const (
	accepted outcome = iota
	soldOut
	short
	restocked
	failed     // without an answer, or with a wrong one
	unanswered // the replay was stopped before
	outcomes
)

func (o outcome) String() string {
	return [...]string{"accepted", "sold out", "insufficient stock", "restocked", "errors", "unanswered"}[o]
}

// kind is what the requests of one outcome have in common.
type kind struct {
	requests, lines int
	waits           *latency.Histogram
}

// SKUTotals are the units of one SKU: as answered, and what the rows have left.
type SKUTotals struct{ Sold, Restocked, Left int64 }

// sum sums up the answers and the rows.
func (r *Replay) sum() {
	r.totals = map[string]SKUTotals{}
	for i := range r.kinds {
		r.kinds[i].waits = latency.New()
	}
	for _, s := range r.Rows.SKUs {
		r.totals[strings.TrimPrefix(s.Name, r.Drill.Prefix)] = SKUTotals{Left: s.Available}
		r.merges += s.Merges
	}
	for i, q := range r.plan.Requests {
		became := r.outcome(i)
		k := &r.kinds[became]
		k.requests, k.lines = k.requests+1, k.lines+q.Stands
		if became != unanswered && len(r.All.Operations[i].Attempts) > 0 {
			k.waits.Record(r.All.Latency(i))
		}
		for _, line := range q.Lines {
			of := r.totals[line.SKU]
			switch became {
			case accepted:
				of.Sold += line.Quantity
				r.UnitsSold += line.Quantity
			case restocked:
				of.Restocked += line.Quantity
			}
			r.totals[line.SKU] = of
		}
	}
	r.Lines, r.LeftOut = r.plan.Lines, r.plan.LeftOut
	r.Accepted, r.SoldOut, r.InsufficientStock = r.kinds[accepted].lines, r.kinds[soldOut].lines, r.kinds[short].lines
	r.Restocked, r.Errors, r.Unanswered = r.kinds[restocked].lines, r.kinds[failed].lines, r.kinds[unanswered].lines
}

// outcome is what became of the i-th request.
func (r *Replay) outcome(i int) outcome {
	kind, became := r.All.Operations[i].Kind, r.All.Replies[i].Outcome
	switch {
	case became.Done() && kind == history.Restock:
		return restocked
	case became.Done():
		return accepted
	case became == load.SoldOut && kind.Takes():
		return soldOut
	case became == load.InsufficientStock && kind.Takes():
		return short
	case r.Interrupted() && became != load.Refused:
		return unanswered
	default:
		return failed
	}
}

// Err is what must not happen: lines that failed, and what no drill may have.
func (r *Replay) Err() error {
	var lost error
	if r.Errors > 0 {
		lost = fmt.Errorf("%d lines failed, first: %w", r.Errors, r.firstError)
	}
	return errors.Join(lost, r.Drill.Err())
}

// Totals are those of every SKU, by its name in the file.
func (r *Replay) Totals() map[string]SKUTotals { return r.totals }
