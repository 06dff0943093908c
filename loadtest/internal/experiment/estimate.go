package experiment

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"inventory/loadtest/internal/report"
)

const (
	certainty   = 0.95
	leastRounds = 6    // fewer say too little about the next one
	resamples   = 2000 // of the rounds
)

// Estimate is a figure with its interval. Unknown is NaN.
type Estimate struct{ Value, Low, High float64 }

// Known reports whether there were enough rounds for an interval.
func (e Estimate) Known() bool { return !math.IsNaN(e.Low) }

// Of is what a contender had of a metric: the mean of its rounds, or their sum.
func (r Result) Of(contender, metric string) Estimate {
	var values []float64
	for _, round := range r.Rounds {
		if value, ok := round[contender][metric]; ok && !math.IsNaN(value) {
			values = append(values, value)
		}
	}
	e := r.estimate(values)
	if slices.ContainsFunc(r.Case.Metrics, func(m Metric) bool { return m.Sum && m.Name == metric }) {
		sum := e.Value * float64(len(values))
		e.Value, e.Low, e.High = sum, sum, sum // which is no estimate: it has happened
	}
	return e
}

// Ratio is the geometric mean of the ratios of a metric between pairs of contenders. Those of a round are one observation: what else
// happened then hit all of them. A round without one of them is none.
func (r Result) Ratio(metric string, pairs ...Pair) Estimate {
	var logs []float64
	for _, round := range r.Rounds {
		sum, known := 0.0, true
		for _, pair := range pairs {
			of, to := round[pair[0]][metric], round[pair[1]][metric]
			sum += math.Log(of / to)
			known = known && of > 0 && to > 0
		}
		if known {
			logs = append(logs, sum/float64(len(pairs)))
		}
	}
	e := r.estimate(logs)
	return Estimate{math.Exp(e.Value), math.Exp(e.Low), math.Exp(e.High)}
}

// estimate is the mean of some observations, with an interval by the bootstrap.
func (r Result) estimate(values []float64) Estimate {
	n := len(values)
	if n == 0 {
		return Estimate{math.NaN(), math.NaN(), math.NaN()}
	}
	e := Estimate{stat.Mean(values, nil), math.NaN(), math.NaN()}
	if n < leastRounds {
		return e
	}
	random := rand.New(rand.NewPCG(r.Rules.Seed, uint64(n))) //nolint:gosec // only what is drawn
	means := make([]float64, resamples)
	for i := range means {
		for range n {
			means[i] += values[random.IntN(n)]
		}
		means[i] /= float64(n)
	}
	slices.Sort(means)
	e.Low = stat.Quantile(tail(n), stat.Empirical, means, nil)
	e.High = stat.Quantile(1-tail(n), stat.Empirical, means, nil)
	return e
}

// tail is the part of the means beyond each end of the interval. Few observations vary less than what they are drawn from, so
// it is less than half of what is not certain: the interval has the width of Student's where errors are normal (Hesterberg, What
// Teachers Should Know About the Bootstrap, 2015: the expanded percentile interval).
func tail(n int) float64 {
	student := distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}
	wide := student.Quantile((1+certainty)/2) * math.Sqrt(float64(n)/float64(n-1))
	return distuv.UnitNormal.CDF(-wide)
}

// Ask is a question to the result of a case.
type Ask func(r Result) Estimate

// Level asks for a metric of a contender.
func Level(metric, contender string) Ask {
	return func(r Result) Estimate { return r.Of(contender, metric) }
}

// Times asks for the ratio of a metric between two contenders.
func Times(metric, of, to string) Ask {
	return func(r Result) Estimate { return r.Ratio(metric, Pair{of, to}) }
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
