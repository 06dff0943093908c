package contenders

import (
	"slices"

	"inventory/loadtest/internal/report"
)

// leastWait is what histograms can tell, in milliseconds. There is no zero on an axis of powers of ten.
const leastWait = 0.001

// plots are what contenders sell and how long it takes, beside one another.
func (c Case) plots() []report.Plot {
	accepted := c.bars("accepted", "accepted orders a second", report.Axis{Label: "orders a second"})
	answers := c.bars("answers", "answers a second, refusals and replays among them", report.Axis{Label: "answers a second"})
	waits := c.bars("wait", "how long answers took", report.Axis{Label: "ms", Log: true})
	for _, callers := range c.crowds() {
		accepted.Series = append(accepted.Series, c.series("", callers, func(e Entry) float64 { return e.Accepted }))
		answers.Series = append(answers.Series, c.series("", callers, func(e Entry) float64 { return e.Answers }))
		waits.Series = append(waits.Series,
			c.series("p50, ", callers, func(e Entry) float64 { return max(e.P50, leastWait) }),
			c.series("p99, ", callers, func(e Entry) float64 { return max(e.P99, leastWait) }))
	}
	if slices.ContainsFunc(c.Entries, func(e Entry) bool { return e.Answers != e.Accepted }) {
		return []report.Plot{accepted, answers, waits}
	}
	return []report.Plot{accepted, waits}
}

// bars is a plot of all contenders, without its series.
func (c Case) bars(name, title string, y report.Axis) report.Plot {
	return report.Plot{
		Name: report.PlotName(c.Name, name), Title: c.Name + ": " + title, Kind: report.Bars, Y: y, Categories: c.names(),
	}
}

// names are those of the contenders, each once.
func (c Case) names() (names []string) {
	for _, e := range c.Entries {
		if !slices.Contains(names, e.Name) {
			names = append(names, e.Name)
		}
	}
	return names
}

// crowds are the numbers of callers, each once.
func (c Case) crowds() (all []int) {
	for _, e := range c.Entries {
		if !slices.Contains(all, e.Callers) {
			all = append(all, e.Callers)
		}
	}
	return all
}

// series is a figure of each contender with so many callers; a contender without them has none.
func (c Case) series(prefix string, callers int, figure func(e Entry) float64) report.Series {
	s := report.Series{Name: prefix + c.crowd(callers)}
	for _, name := range c.names() {
		s.Y = append(s.Y, figure(c.entry(name, callers)))
	}
	return s
}
