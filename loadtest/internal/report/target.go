package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"inventory/internal/latency"
)

// Target is what a figure has to reach.
type Target struct {
	What    string  `json:"what"`
	Value   float64 `json:"value"`
	Low     float64 `json:"low,omitzero"` // and High: the interval in which the true value lies
	High    float64 `json:"high,omitzero"`
	Sign    Sign    `json:"sign"`
	Bound   float64 `json:"bound"`
	Verdict string  `json:"verdict"`
}

// The verdicts. A target is undecided if the bound is within the interval. With too few rounds the interval is not known.
const (
	Met       = Good + " met"
	Missed    = Bad + " missed"
	Undecided = Open + " undecided"
	TooFew    = Open + " too few rounds"
)

// Sign is the side of its bound on which a value must be.
type Sign string

// The signs.
const (
	MoreThan Sign = "at least"
	LessThan Sign = "at most"
)

// AtMost is a target of which less is better.
func AtMost(what string, value, bound float64) Target {
	return Target{What: what, Value: value, Sign: LessThan, Bound: bound}.judged()
}

// Within is a target whose true value lies in an interval. It is met if all of the interval meets it, and missed if nothing does. A
// value that is no number was not measured, and misses every target.
func (t Target) Within(low, high float64) Target {
	t.Low, t.High = low, high
	return t.judged()
}

// exact says that there is no interval.
func (t Target) exact() bool { return t.Low == 0 && t.High == 0 }

func (t Target) judged() Target {
	low, high := t.Low, t.High
	if t.exact() {
		low, high = t.Value, t.Value
	}
	reaches := func(value float64) bool { return value >= t.Bound }
	if t.Sign == LessThan {
		reaches = func(value float64) bool { return value <= t.Bound }
	}
	switch {
	case math.IsNaN(t.Value):
		t.Verdict = Missed
	case math.IsNaN(low) || math.IsNaN(high):
		t.Verdict = TooFew
	case reaches(low) != reaches(high):
		t.Verdict = Undecided
	default:
		t.Verdict = map[bool]string{true: Met, false: Missed}[reaches(low)]
	}
	return t
}

// Targets are those of all sections.
func (d Document) Targets() (all []Target) {
	for _, s := range d.Sections {
		all = append(all, s.Targets...)
	}
	return all
}

// SetBound gives the target of a name another bound.
func (d *Document) SetBound(name string, bound float64) error {
	found, names := false, []string{}
	for _, s := range d.Sections {
		for i, t := range s.Targets {
			if names = append(names, t.What); t.What == name {
				t.Bound, found = bound, true
				s.Targets[i] = t.judged()
			}
		}
	}
	if !found {
		return fmt.Errorf("there is no target %q; there are %q", name, names)
	}
	return nil
}

// Missed are the names of the missed targets. An undecided one is not missed.
func (d Document) Missed() (names []string) {
	for _, t := range d.Targets() {
		if t.Verdict == Missed {
			names = append(names, t.What)
		}
	}
	return names
}

// Verdicts count targets by what came of them: "✓ 5 met".
func Verdicts(targets []Target) (all []string) {
	for _, verdict := range []string{Met, Missed, Undecided} {
		mark, word, _ := strings.Cut(verdict, " ")
		n := 0
		for _, t := range targets {
			if strings.HasPrefix(t.Verdict, mark) {
				n++
			}
		}
		if n > 0 {
			all = append(all, fmt.Sprintf("%s %d %s", mark, n, word))
		}
	}
	return all
}

// String is the target with its value and the verdict.
func (t Target) String() string {
	return fmt.Sprintf("%s: %s: %s (target: %s %s)", t.Verdict, t.What, t.Told(), t.Sign, Number(t.Bound))
}

// Told is the value with its interval, if it has one.
func (t Target) Told() string {
	if t.exact() {
		return Number(t.Value)
	}
	return Interval(t.Value, t.Low, t.High)
}

// Interval is a number with the ends of its interval, if they are known.
func Interval(value, low, high float64) string {
	if math.IsNaN(low) {
		return Number(value)
	}
	return fmt.Sprintf("%s (%s to %s)", Number(value), Number(low), Number(high))
}

// Median returns the middle value, or the mean of the two in the middle; no number of none.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	switch {
	case n == 0:
		return math.NaN()
	case n%2 == 1:
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// Ratio is a/b, and no number where there is nothing to compare with: that meets no target.
func Ratio(a, b float64) float64 {
	if b == 0 {
		return math.NaN()
	}
	return a / b
}

// Jain is Jain's fairness index: the square of the sum, over n times the sum of the squares. No number if nobody got anything.
func Jain(counts []int64) float64 {
	var sum, squares float64
	for _, n := range counts {
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	return Ratio(sum*sum, float64(len(counts))*squares)
}

// Milliseconds is a time as figures tell it.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Quantile is the time in milliseconds that so many percent stayed within; no number where nobody waited.
func Quantile(waits *latency.Histogram, percent float64) float64 {
	if waits.Count() == 0 {
		return math.NaN()
	}
	return Milliseconds(waits.Quantile(percent))
}
