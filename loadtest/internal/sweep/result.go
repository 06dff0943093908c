package sweep

import (
	"slices"
	"time"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/report"
)

// Result is what a sweep has measured.
type Result struct {
	Scenario    string
	Grid        Grid
	Rounds      int
	Runs        []Run
	Started     time.Time
	Elapsed     time.Duration
	Interrupted bool
}

// Run is a scenario with one combination.
type Run struct {
	Point  Point            `json:"settings"`
	Round  int              `json:"round"` // from 1 on
	Error  string           `json:"error,omitzero"`
	Report *report.Document `json:"report"` // null: it did not come to one
}

// whole tells whether a run's figures may be compared: it was not cut short.
func (r Run) whole() bool { return r.Report != nil && !r.Report.Interrupted }

// figure is one of a scenario's, and what the rounds of each combination have made of it.
type figure struct {
	name, unit string
	rounds     map[string][]float64 // by the combination's text
}

// title is the name with the unit.
func (f figure) title() string {
	switch f.unit {
	case "":
		return f.name
	case "/s":
		return f.name + " a second"
	}
	return f.name + ", " + f.unit
}

// at is the median of a combination's rounds. ok is false where there are none.
func (f figure) at(p Point) (median float64, ok bool) {
	rounds := f.rounds[p.String()]
	return compare.Median(rounds), len(rounds) > 0
}

// cell is what a table has of a combination.
func (f figure) cell(p Point) string {
	median, ok := f.at(p)
	if !ok {
		return "-"
	}
	rounds := f.rounds[p.String()]
	if len(rounds) == 1 {
		return report.Number(median)
	}
	return report.Number(median) + " (" + report.Number(slices.Min(rounds)) + " to " + report.Number(slices.Max(rounds)) + ")"
}

// figures are those of all whole runs, in the order of their first appearance.
func (r Result) figures() (all []figure) {
	for _, run := range r.Runs {
		if !run.whole() {
			continue
		}
		for _, f := range run.Report.Figures {
			i := slices.IndexFunc(all, func(known figure) bool { return known.name == f.Name && known.unit == f.Unit })
			if i < 0 {
				i, all = len(all), append(all, figure{f.Name, f.Unit, map[string][]float64{}})
			}
			point := run.Point.String()
			all[i].rounds[point] = append(all[i].rounds[point], f.Value)
		}
	}
	return all
}
