package experiment

import (
	"math"
	"slices"
	"strings"

	"inventory/loadtest/internal/report"
)

// leastDrawn stands for less on a logarithmic axis, which has no zero: a microsecond in milliseconds.
const leastDrawn = 0.001

// plots have bars for each exact metric: of each contender, or by the first factor if the case says so.
func (r Result) plots(name string) (all []report.Plot) {
	for _, m := range r.exact() {
		p := report.Plot{
			Name: report.PlotName(name, m.Name), Title: m.Name, Kind: report.Bars, Y: report.Axis{Label: m.Name, Log: m.Log},
		}
		if r.Case.Over {
			r.over(&p, m)
		} else {
			bars := report.Series{}
			for _, c := range r.Case.Contenders {
				p.Categories, bars.Y = append(p.Categories, c.Name), append(bars.Y, r.drawn(m, c.Name))
			}
			p.Series = []report.Series{bars}
		}
		if len(p.Series) > 0 {
			all = append(all, p)
		}
	}
	return all
}

// over draws a metric by the levels of the first factor, with a bar for each measured combination of the others.
func (r Result) over(p *report.Plot, m Metric) {
	levels, others := r.levels()
	p.Categories = levels
	for _, other := range others {
		s := report.Series{Name: r.named(other)}
		for _, level := range levels {
			s.Y = append(s.Y, r.drawn(m, r.at(append([]string{level}, other...))))
		}
		if slices.ContainsFunc(s.Y, func(y float64) bool { return !math.IsNaN(y) }) {
			p.Series = append(p.Series, s)
		}
	}
}

// levels are those of the first factor, and the combinations of the others, each once.
func (r Result) levels() (first []string, others [][]string) {
	for _, c := range r.Case.Contenders {
		if !slices.Contains(first, c.Levels[0]) {
			first = append(first, c.Levels[0])
		}
		if !slices.ContainsFunc(others, func(known []string) bool { return slices.Equal(known, c.Levels[1:]) }) {
			others = append(others, c.Levels[1:])
		}
	}
	return first, others
}

// at is the contender of some levels; "" if there is none.
func (r Result) at(levels []string) string {
	for _, c := range r.Case.Contenders {
		if slices.Equal(c.Levels, levels) {
			return c.Name
		}
	}
	return ""
}

// named are the levels of all factors but the first.
func (r Result) named(others []string) string {
	words := make([]string, len(others))
	for i, level := range others {
		words[i] = r.Case.Factors[i+1] + "=" + level
	}
	return strings.Join(words, ", ")
}

// drawn is a metric of a contender as a place on an axis.
func (r Result) drawn(m Metric, contender string) float64 {
	value := r.Of(contender, m.Name).Value
	if m.Log && value < leastDrawn {
		return leastDrawn
	}
	return value
}
