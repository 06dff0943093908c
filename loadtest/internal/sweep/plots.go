package sweep

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"inventory/loadtest/internal/report"
)

// wide is how many times as large as the least the most value of an axis is, whose steps are shown by their ratios.
const wide = 10

// plots are each figure over the first axis, a line for each combination of the others. Values that are no numbers are bars.
func (r Result) plots(figures []figure) (all []report.Plot) {
	first := r.Grid[0]
	x, numeric := numbers(first.Values)
	for _, f := range figures {
		p := report.Plot{
			Name: report.PlotName(r.Scenario, f.title(), "by", first.Flag), Title: f.title() + ", by " + first.Flag,
			X: report.Axis{Label: first.Flag}, Y: report.Axis{Label: f.title()},
		}
		if numeric {
			p.Kind, p.X.Log = report.Lines, slices.Min(x) > 0 && slices.Max(x) >= wide*slices.Min(x)
		} else {
			p.Kind, p.Categories = report.Bars, first.Values
		}
		for _, others := range r.Grid[1:].Points() {
			if s := f.over(first, x, others); len(s.Y) > 0 {
				p.Series = append(p.Series, s)
			}
		}
		if len(p.Series) > 0 {
			all = append(all, p)
		}
	}
	return all
}

// over is a figure over an axis, beside one combination of the others. A line leaves out what was not measured; bars, which
// have no x, have nothing there.
func (f figure) over(first Axis, x []float64, others Point) report.Series {
	s := report.Series{Name: others.String()}
	if s.Name == "" {
		s.Name = f.title()
	}
	measured := false
	for _, i := range ascending(x, len(first.Values)) {
		y, ok := f.at(append(Point{{first.Flag, first.Values[i]}}, others...))
		measured = measured || ok
		switch {
		case x == nil:
			s.Y = append(s.Y, y)
		case ok:
			s.X, s.Y = append(s.X, x[i]), append(s.Y, y)
		}
	}
	if !measured {
		return report.Series{}
	}
	return s
}

// ascending are the indices of n values by their x, or as they are where there is none.
func ascending(x []float64, n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if x != nil {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	}
	return order
}

// numbers are values as such, if all of them are numbers, or durations, which are told in seconds.
func numbers(values []string) (all []float64, ok bool) {
	for _, value := range values {
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			var d time.Duration
			if d, err = time.ParseDuration(value); err == nil {
				n = d.Seconds()
			}
		}
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return nil, false
		}
		all = append(all, n)
	}
	return all, true
}
