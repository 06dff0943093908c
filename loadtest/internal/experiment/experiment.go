package experiment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"inventory/loadtest/internal/report"
)

// Case is a question.
type Case struct {
	Factors     []string // what contenders differ in; none: they have names alone
	Contenders  []Contender
	Metrics     []Metric
	Comparisons []Comparison // what is asked: rounds go on until each is known well enough
	Targets     []Target
}

// Contender is one of those who are compared.
type Contender struct {
	Name   string
	Levels []string // of each factor
	// Play plays for a window, and tells what came of it.
	Play func(ctx context.Context, window time.Duration) (Sample, error)
}

// Sample has what a window came to, by the names of metrics. What is missing was not measured.
type Sample map[string]float64

// Metric is something that each window tells.
type Metric struct {
	Name  string // with its unit
	Exact bool   // its interval is told as well
}

// Comparison asks how many times as much of a metric some contenders have as others.
type Comparison struct {
	Name   string
	Metric string
	Pairs  []Pair // several are told by the geometric mean of their ratios
}

// Pair are the names of two contenders, of which the first is divided by the second.
type Pair [2]string

// Target is what a comparison has to come to.
type Target struct {
	Comparison
	Sign  report.Sign
	Bound float64
}

// Rules say how a case is played.
type Rules struct {
	Seed   uint64
	WarmUp time.Duration // that each contender plays before the first round; 0: none does
	Window time.Duration
	For    time.Duration // no round begins that would end later, but the first one
	Narrow float64       // rounds end when the high end of each interval is at most this many times the low one; 0: never
	// Progress is told how many rounds have been played; nil: nobody is.
	Progress func(rounds int)
}

// Result is what came of a case.
type Result struct {
	Case   Case
	Rules  Rules
	Rounds []Round
	Failed map[string]error // by contender; it plays no more
	Narrow bool             // all comparisons are known as well as was asked for
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
	for len(r.Rounds) == 0 || !r.Narrow && time.Since(start)+longest <= rules.For {
		began := time.Now()
		round := r.round(ctx, random, rules.Window)
		if ctx.Err() != nil || len(round) == 0 {
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

// round lets all play who have not failed, in an order by chance.
func (r *Result) round(ctx context.Context, random *rand.Rand, window time.Duration) Round {
	contenders := slices.Clone(r.Case.Contenders)
	random.Shuffle(len(contenders), func(i, j int) { contenders[i], contenders[j] = contenders[j], contenders[i] })
	round := Round{}
	for _, c := range contenders {
		if ctx.Err() != nil || r.Failed[c.Name] != nil {
			continue
		}
		sample, err := c.Play(ctx, window)
		switch {
		case ctx.Err() != nil: // which is why it failed
		case err != nil:
			r.Failed[c.Name] = fmt.Errorf("%s, round %d: %w", c.Name, len(r.Rounds)+1, err)
		default:
			round[c.Name] = sample
		}
	}
	return round
}

// narrow tells whether all that is asked is known well enough.
func (r *Result) narrow() bool {
	if r.Rules.Narrow == 0 {
		return false
	}
	return !slices.ContainsFunc(r.asked(), func(c Comparison) bool {
		e := r.Compare(c)
		return !(e.High <= e.Low*r.Rules.Narrow) // so that what is no number is not narrow
	})
}

// asked are all comparisons, with those of targets.
func (r *Result) asked() []Comparison {
	all := slices.Clone(r.Case.Comparisons)
	for _, t := range r.Case.Targets {
		all = append(all, t.Comparison)
	}
	return all
}
