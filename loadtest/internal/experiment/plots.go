package experiment

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"inventory/loadtest/internal/report"
)

const (
	// wide is the ratio of the largest to the least level from which on the axis is logarithmic.
	wide = 10
	// leastDrawn stands for less on a logarithmic axis, which has no zero: a microsecond in milliseconds.
	leastDrawn = 0.001
)

// plots have one for each exact metric: over the first factor if the case says so, or with a bar for each contender.
func (r Result) plots(name string) (all []report.Plot) {
	if r.Case.Plots != nil {
		return r.Case.Plots()
	}
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

// over draws a metric over the first factor, a series for each combination of the others: lines if its levels are numbers,
// bars if not.
func (r Result) over(p *report.Plot, m Metric) {
	levels, others := r.levels()
	x, numeric := numbers(levels)
	if numeric {
		p.Kind, p.X = report.Lines, report.Axis{Label: r.Case.Factors[0], Log: slices.Min(x) > 0 && slices.Max(x) >= wide*slices.Min(x)}
		slices.SortFunc(levels, func(a, b string) int { return cmp.Compare(x[slices.Index(levels, a)], x[slices.Index(levels, b)]) })
		x, _ = numbers(levels)
	} else {
		p.Categories = levels
	}
	for _, other := range others {
		s, measured := report.Series{Name: r.named(other, m)}, false
		for i, level := range levels {
			y := r.drawn(m, r.at(append([]string{level}, other...)))
			measured = measured || !math.IsNaN(y)
			switch {
			case !numeric:
				s.Y = append(s.Y, y)
			case !math.IsNaN(y): // a line leaves out what was not measured
				s.X, s.Y = append(s.X, x[i]), append(s.Y, y)
			}
		}
		if measured {
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
func (r Result) named(others []string, m Metric) string {
	var words []string
	for i, level := range others {
		words = append(words, r.Case.Factors[i+1]+"="+level)
	}
	if len(words) == 0 {
		return m.Name
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

// numbers are levels as numbers, and durations in seconds, if all of them are.
func numbers(levels []string) (all []float64, ok bool) {
	for _, level := range levels {
		n, err := strconv.ParseFloat(level, 64)
		if err != nil {
			var d time.Duration
			d, err = time.ParseDuration(level)
			n = d.Seconds()
		}
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return nil, false
		}
		all = append(all, n)
	}
	return all, len(all) > 0
}
