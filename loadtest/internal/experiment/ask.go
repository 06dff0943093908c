package experiment

import (
	"math"
	"slices"

	"inventory/loadtest/internal/report"
)

// Ask is a question to the result of a case.
type Ask func(r Result) Estimate

// Level asks for a metric of a contender.
func Level(metric, contender string) Ask {
	return func(r Result) Estimate { return r.Of(contender, metric) }
}

// Times asks for the ratio of a metric between two contenders.
func Times(metric, of, to string) Ask {
	return func(r Result) Estimate { return r.times(metric, of, to) }
}

// TimesBest asks for the ratio of a metric between a contender and the best of some: the one with most of another metric.
func TimesBest(metric, of, most string, some func(name string) bool) Ask {
	return func(r Result) Estimate { return r.times(metric, of, r.Most(most, some)) }
}

func (r Result) times(metric, of, to string) Estimate {
	return r.Compare(Comparison{Metric: metric, Pairs: []Pair{{of, to}}})
}

// AtLeast is a target of which more is better.
func AtLeast(name string, of Ask, bound float64) Target {
	return Target{name, of, report.MoreThan, bound}
}

// AtMost is a target of which less is better.
func AtMost(name string, of Ask, bound float64) Target {
	return Target{name, of, report.LessThan, bound}
}

// Most is the contender with most of a metric among some; "" if none has any.
func (r Result) Most(metric string, some func(name string) bool) (most string) {
	best := math.Inf(-1)
	for _, c := range r.Case.Contenders {
		if value := r.Of(c.Name, metric).Value; some(c.Name) && value > best {
			most, best = c.Name, value
		}
	}
	return most
}

// First is the first contender of ours that was measured; "" if none was.
func (r Result) First() string {
	for _, c := range r.Case.Contenders {
		if c.Ours && r.measured(c) {
			return c.Name
		}
	}
	return ""
}

// measured reports whether a contender has a sample.
func (r Result) measured(c Contender) bool {
	return slices.ContainsFunc(r.Rounds, func(round Round) bool { return round[c.Name] != nil })
}
