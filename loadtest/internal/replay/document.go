package replay

import (
	"fmt"

	"github.com/dustin/go-humanize"

	"inventory/internal/latency"
	"inventory/loadtest/internal/compare"
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

// summary is what a person wants to know first.
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
