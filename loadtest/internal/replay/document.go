package replay

import (
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/report"
)

// Document is the result as it is told. Who has measured adds when and where that was.
func (r Result) Document() (report.Document, error) {
	d := report.Document{
		Scenario: "replay", Elapsed: r.tally.Elapsed.Seconds(), Interrupted: r.tally.Interrupted,
		Summary: r.summary(), Figures: r.figures(), AuditOK: r.AuditOK(), Wrong: r.wrong(),
		Sections: []report.Section{{Name: "order lines", Table: r.table(), Plots: []report.Plot{r.plot()}}},
	}
	return d, d.SetOwn(r)
}

// mostProblems are told: a database that is none of the run's has one for each SKU.
const mostProblems = 20

func (r Result) wrong() []string {
	all := r.comparison.Problems
	if len(all) <= mostProblems {
		return all
	}
	return append(slices.Clone(all[:mostProblems]), fmt.Sprintf("and %s more", comma(len(all)-mostProblems)))
}

func comma[N int | int64](n N) string { return humanize.Comma(int64(n)) }

// summary is what a person wants to know first.
func (r Result) summary() []string {
	const day = "2 January 2006"
	sum := r.tally.Sum()
	lines := []string{
		fmt.Sprintf("Replay of %s order lines, %s to %s, with %s SKUs, sent to %s.", comma(r.Lines),
			r.plan.From.Format(day), r.plan.To.Format(day), comma(len(r.plan.SKUs)), r.where),
		fmt.Sprintf("%s units sold, %s restocked, %s left; %s merges.", comma(sum.Sold), comma(sum.Restocked), comma(r.left()),
			comma(r.comparison.Merges)),
		fmt.Sprintf("%.2f s, %s requests a second.", r.tally.Elapsed.Seconds(), comma(int64(r.perSecond()))),
	}
	if r.AuditOK() {
		return append(lines, "The rows hold what was answered, and every unit adds up.")
	}
	return append(lines, fmt.Sprintf("What was answered and the rows do not add up: %d problems.", len(r.comparison.Problems)))
}

// perSecond counts the requests that were sent.
func (r Result) perSecond() float64 {
	return compare.Ratio(float64(r.tally.All().Latency.Count()), r.tally.Elapsed.Seconds())
}

// figures are those by which two runs are told apart.
func (r Result) figures() []report.Figure {
	all := r.tally.All().Latency
	return []report.Figure{
		{Name: "requests", Unit: "/s", Value: r.perSecond()},
		{Name: "p50", Unit: "ms", Value: compare.Milliseconds(all.Quantile(50))},
		{Name: "p99", Unit: "ms", Value: compare.Milliseconds(all.Quantile(99))},
		{Name: "units sold", Value: float64(r.UnitsSold)},
	}
}

// table has a row for each outcome: lines and requests, and how long the answers took.
func (r Result) table() *report.Table {
	table := &report.Table{Columns: []string{"", "lines", "requests", "p50 ms", "p99 ms", "max ms"}}
	for outcome, kind := range r.tally.Kinds {
		table.Rows = append(table.Rows, kind.row(Outcome(outcome).String()))
	}
	table.Rows = append(table.Rows, unsent("left out", r.LeftOut))
	if r.tally.Interrupted {
		table.Rows = append(table.Rows, unsent("unanswered", r.Unanswered))
	}
	all := r.tally.All()
	all.Lines = r.Lines
	table.Rows = append(table.Rows, all.row("all"))
	return table
}

// unsent is the row of lines without an answer.
func unsent(name string, lines int) []string { return []string{name, comma(lines), "-", "-", "-", "-"} }

// row is the row of a kind. Where nothing was answered there is no latency.
func (k Kind) row(name string) []string {
	cells := []string{name, comma(k.Lines), comma(k.Requests)}
	if k.Latency.Count() == 0 {
		return append(cells, "-", "-", "-")
	}
	for _, took := range []time.Duration{k.Latency.Quantile(50), k.Latency.Quantile(99), k.Latency.Max()} {
		cells = append(cells, fmt.Sprintf("%.2f", compare.Milliseconds(took)))
	}
	return cells
}

// percentiles are those that are drawn.
func percentiles() []float64 { return []float64{0, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99} }

// plot is how long the answers of each outcome took.
func (r Result) plot() report.Plot {
	p := report.Plot{
		Name: "replay-latency", Title: "how long answers took, by outcome", Kind: report.Percentiles,
		X: report.Axis{Label: "percentile"}, Y: report.Axis{Label: "ms", Log: true},
	}
	for outcome, kind := range r.tally.Kinds {
		if kind.Latency.Count() == 0 {
			continue
		}
		s := report.Series{Name: Outcome(outcome).String(), X: percentiles()}
		for _, percent := range s.X {
			s.Y = append(s.Y, compare.Milliseconds(kind.Latency.Quantile(percent)))
		}
		p.Series = append(p.Series, s)
	}
	return p
}
