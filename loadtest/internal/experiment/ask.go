package experiment

import (
	"math"
	"slices"

	"inventory/loadtest/internal/report"
)

// Ask is something asked of what came of a case.
type Ask func(r Result) Estimate

// Level asks for a metric of a contender.
func Level(metric, contender string) Ask {
	return func(r Result) Estimate { return r.Of(contender, metric) }
}

// Times asks how many times as much of a metric one contender has as another.
func Times(metric, of, to string) Ask {
	return func(r Result) Estimate { return r.times(metric, of, to) }
}

// TimesBest asks how many times as much of a metric a contender has as the one that is best of some: it has most of another.
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

// Most is the contender of some that has most of a metric; "" if none has any.
func (r Result) Most(metric string, some func(name string) bool) (most string) {
	best := math.Inf(-1)
	for _, c := range r.Case.Contenders {
		if value := r.Of(c.Name, metric).Value; some(c.Name) && value > best {
			most, best = c.Name, value
		}
	}
	return most
}

// First is the first contender of ours that has been measured; "" if none was.
func (r Result) First() string {
	for _, c := range r.Case.Contenders {
		if c.Ours && slices.ContainsFunc(r.Rounds, func(round Round) bool { return round[c.Name] != nil }) {
			return c.Name
		}
	}
	return ""
}

// Total asks for the sum of a metric over all contenders.
func Total(metric string) Ask {
	return func(r Result) (sum Estimate) {
		for _, c := range r.Case.Contenders {
			e := r.Of(c.Name, metric)
			sum = Estimate{sum.Value + e.Value, sum.Low + e.Low, sum.High + e.High, len(r.Rounds)}
		}
		return sum
	}
}
