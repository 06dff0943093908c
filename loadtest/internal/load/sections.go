package load

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dustin/go-humanize"

	"inventory/internal/latency"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/report"
)

// percents are the columns of [cells].
func percents() []string {
	return []string{"p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "p99.99 ms", "max ms"}
}

// cells are the percentiles of a histogram for a table, and the longest.
func cells(waits *latency.Histogram) (cells []string) {
	if waits.Count() == 0 {
		return []string{"-", "-", "-", "-", "-", "-"}
	}
	for _, percent := range []float64{50, 90, 99, 99.9, 99.99} {
		cells = append(cells, report.Number(compare.Quantile(waits, percent)))
	}
	return append(cells, report.Number(compare.Milliseconds(waits.Max())))
}

// OutcomeSection is a row for each outcome, and one for all.
func (r *Result) OutcomeSection() report.Section {
	table := &report.Table{Columns: append([]string{"outcome", "requests", "share, %"}, percents()...)}
	counts := r.Counts(0, Forever)
	var all int64
	for _, o := range Outcomes() {
		all += counts[o]
	}
	add := func(name string, n int64, waits *latency.Histogram) {
		row := []string{name, humanize.Comma(n), report.Number(compare.Ratio(100*float64(n), float64(all)))}
		table.Rows = append(table.Rows, append(row, cells(waits)...))
	}
	for _, o := range Outcomes() {
		if counts[o] > 0 {
			add(o.Words(), counts[o], r.Latencies(o))
		}
	}
	add("all who were due", all, r.All(0, Forever))
	notes, codes := []string{"who got no answer counts with the time until that was clear: they have waited at least so long"}, r.Codes()
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		notes = append(notes, fmt.Sprintf("%s of those that failed or were refused otherwise were %s", humanize.Comma(codes[code]), code))
	}
	return report.Section{Name: "What buyers were answered", Table: table, Notes: notes}
}

// GeneratorSection has how far the generator was behind its plan.
func (r *Result) GeneratorSection() report.Section {
	all, own := r.Lags(0, Forever)
	table := &report.Table{Columns: append([]string{"lag behind the plan", "requests"}, percents()...), Rows: [][]string{
		append([]string{"all that were sent", humanize.Comma(all.Count())}, cells(all)...),
		append([]string{"those for which a connection was free in time", humanize.Comma(own.Count())}, cells(own)...),
	}}
	return report.Section{Name: "Generator", Table: table}
}

// LagP99 is how late, in milliseconds, one of a hundred requests was sent: of all, and of those with a connection free in time.
func (r *Result) LagP99() (all, own float64) {
	a, o := r.Lags(0, Forever)
	return compare.Milliseconds(a.Quantile(99)), compare.Milliseconds(o.Quantile(99))
}

// Above these the generator did not keep up.
const (
	mostLag = 50. // ms, p99 of all that was sent
	// MostOwnLag is in ms, p99 of what a free connection waited for.
	MostOwnLag = 10.
)

// Warnings say why figures may not be what they seem. Each begins with name.
func (r *Result) Warnings(name string) (lines []string) {
	all, own := r.LagP99()
	if own > MostOwnLag {
		lines = append(lines, fmt.Sprintf("%sthe generator did not keep up: 1%% of its sends were %s ms late or more although a connection was free; "+
			"latencies have that in them, and it is not the service's", name, report.Number(own)))
	}
	if all > mostLag {
		lines = append(lines, fmt.Sprintf("%s1%% of the sends were %s ms late or more, because all connections were busy; latencies have that in them; "+
			"more connections raise how much can be under way", name, report.Number(all)))
	}
	counts := r.Counts(0, Forever)
	if dropped := counts[Dropped]; dropped > 0 {
		lines = append(lines, fmt.Sprintf("%s%s requests were dropped: no connection was free within %v of their time, so less was sent than planned",
			name, humanize.Comma(dropped), DefaultMaxLag))
	}
	if overloaded := counts[Overloaded]; overloaded > 0 {
		lines = append(lines, fmt.Sprintf("%s%s requests were refused as overloaded: the rate is more than the service can do", name, humanize.Comma(overloaded)))
	}
	return lines
}
