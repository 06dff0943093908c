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
	"math/rand/v2"
	"slices"
	"time"

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
