// Package experiment compares contenders on a machine that is never quite quiet.
//
// # Rules of measuring
//
// Contenders play in rounds, one window each, in an order that the seed draws for each round: none always follows the same
// other one. Before the first round each has a warm-up. Ratios are of windows of the same round, which had the same machine,
// so a machine that becomes slower falsifies none. Only whole rounds count.
//
// Each figure has an interval that holds the true one with a certainty of 95 %. Rounds go on until all intervals are narrow
// enough, or time is up. They never stop because an interval shows a wanted result.
//
// # Verdicts
//
// A target is met or missed where the whole interval is on one side of its bound, and undecided where the bound is within, or
// where there were too few rounds for an interval. A target without data is missed.
package experiment

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"inventory/loadtest/internal/report"
)

// Case is a comparison of contenders.
type Case struct {
	Factors     []string // what contenders differ in; "" is by name
	Contenders  []Contender
	Metrics     []Metric
	Ratios      []Ratio
	Comparisons []Ask // rounds go on until each is known well enough, and each target
	Targets     []Target
	About       string // the contender in the summary; "": none
}

// Contender is one of the things compared.
type Contender struct {
	Name   string
	Levels []string // of each factor
	Ours   bool     // it must not fail
	// Play plays for a window. A contender that fails plays no more; it may still have a sample.
	Play func(ctx context.Context, window time.Duration) (Sample, error)
}

// Sample are the metrics of a window by their names.
type Sample map[string]float64

// Metric is a number of each window. A metric that no contender has is left out.
type Metric struct {
	Name  string // with its unit
	Exact bool   // it has an interval; the first one also a plot
	Sum   bool   // of all rounds, and not their mean
	Rare  bool   // it is left out if it is 0 for all contenders
}

// Ratio is a ratio of a metric between each contender and another one.
type Ratio struct {
	Head   string // of its column
	Metric string
	To     func(r Result, c Contender) string // "": none
}

// Pair are the names of two contenders, of which the first is divided by the second.
type Pair [2]string

// Target is a bound for the answer to a question.
type Target struct {
	Name  string
	Of    Ask
	Sign  report.Sign
	Bound float64
}

// Rules say how a case is played.
type Rules struct {
	Seed   uint64
	WarmUp time.Duration // that each contender plays before the first round; 0: none does
	Window time.Duration
	Rounds int           // at most, or
	For    time.Duration // in which as many rounds are played as end in time; there is always one
	Narrow float64       // rounds end when the high end of each interval is at most this many times the low one; 0: never
	// Progress is called after each round; nil: it is not.
	Progress func(rounds int)
}

// Result has the rounds of a case.
type Result struct {
	Name   string
	Case   Case
	Rules  Rules
	Rounds []Round
	Failed map[string]error // by contender; it plays no more
	Narrow bool             // all comparisons are known as well as was asked for
	// Interrupted is a case that was stopped before its last round.
	Interrupted bool
	SKUs        int      // that were audited
	Wrong       []string // what does not add up
}

// Round has the samples of a round by the names of contenders.
type Round map[string]Sample

// Run plays a case until it is decided, time is up, or ctx ends.
func Run(ctx context.Context, c Case, rules Rules) Result {
	r := Result{Case: c, Rules: rules, Failed: map[string]error{}}
	random := rand.New(rand.NewPCG(rules.Seed, uint64(len(c.Contenders)))) //nolint:gosec // only the order of contenders
	start, longest := time.Now(), time.Duration(0)
	if rules.WarmUp > 0 {
		r.round(ctx, random, rules.WarmUp)
	}
	for len(r.Rounds) == 0 || !r.Narrow && (len(r.Rounds) < rules.Rounds || time.Since(start)+longest < rules.For) {
		began := time.Now()
		round := r.round(ctx, random, rules.Window)
		r.Interrupted = ctx.Err() != nil
		if r.Interrupted || len(round) == 0 {
			break
		}
		longest = max(longest, time.Since(began))
		r.Rounds = append(r.Rounds, round)
		r.Narrow = r.narrow()
		if rules.Progress != nil {
			rules.Progress(len(r.Rounds))
		}
	}
	return r
}

// round plays all contenders that have not failed, in an order by chance.
func (r *Result) round(ctx context.Context, random *rand.Rand, window time.Duration) Round {
	contenders := slices.Clone(r.Case.Contenders)
	random.Shuffle(len(contenders), func(i, j int) { contenders[i], contenders[j] = contenders[j], contenders[i] })
	round := Round{}
	for _, c := range contenders {
		if ctx.Err() != nil || r.Failed[c.Name] != nil {
			continue
		}
		sample, err := c.Play(ctx, window)
		if err != nil && ctx.Err() == nil { // otherwise the end of ctx is the reason
			r.Failed[c.Name] = fmt.Errorf("%s, round %d: %w", c.Name, len(r.Rounds)+1, err)
		}
		if err == nil || sample != nil {
			round[c.Name] = sample
		}
	}
	return round
}

// narrow reports whether all intervals are narrow enough.
func (r *Result) narrow() bool {
	if r.Rules.Narrow == 0 {
		return false
	}
	asked := slices.Clone(r.Case.Comparisons)
	for _, t := range r.Case.Targets {
		asked = append(asked, t.Of)
	}
	return !slices.ContainsFunc(asked, func(of Ask) bool {
		e := of(*r)
		return !(e.High <= e.Low*r.Rules.Narrow) // so that what is no number is wide
	})
}

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
