package experiment

import (
	"math"

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
func TimesBest(metric, of, most string, some func(c Contender) bool) Ask {
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
func (r Result) Most(metric string, some func(c Contender) bool) (most string) {
	best := math.Inf(-1)
	for _, c := range r.Case.Contenders {
		if value := r.Of(c.Name, metric).Value; some(c) && value > best {
			most, best = c.Name, value
		}
	}
	return most
}
