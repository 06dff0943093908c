package report

import (
	"fmt"
	"math"
)

// Target is what a figure has to reach.
type Target struct {
	What      string  `json:"what"`
	Value     float64 `json:"value"`
	Low       float64 `json:"low,omitzero"` // and High: the interval in which the true value lies
	High      float64 `json:"high,omitzero"`
	Sign      Sign    `json:"sign"`
	Bound     float64 `json:"bound"`
	Met       bool    `json:"met"`
	Undecided bool    `json:"undecided,omitzero"` // the bound is within the interval, or the interval is not known
}

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
	measured := !math.IsNaN(t.Value)
	known := !math.IsNaN(low) && !math.IsNaN(high) && reaches(low) == reaches(high)
	t.Met, t.Undecided = measured && known && reaches(low), measured && !known
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
		if t.missed() {
			names = append(names, t.What)
		}
	}
	return names
}

func (t Target) missed() bool { return !t.Met && !t.Undecided }

// verdict is the mark of the target and its word.
func (t Target) verdict() (mark, word string) {
	switch {
	case t.Met:
		return Good, "met"
	case t.Undecided && math.IsNaN(t.Low):
		return Open, "too few rounds"
	case t.Undecided:
		return Open, "undecided"
	}
	return Bad, "missed"
}

// Verdict is the mark of the target and its word.
func (t Target) Verdict() string {
	mark, word := t.verdict()
	return mark + " " + word
}

// Verdicts count targets by what came of them: "✓ 5 met".
func Verdicts(targets []Target) (all []string) {
	n := map[string]int{}
	for _, t := range targets {
		mark, _ := t.verdict()
		n[mark]++
	}
	for _, v := range [][2]string{{Good, "met"}, {Bad, "missed"}, {Open, "undecided"}} {
		if count := n[v[0]]; count > 0 {
			all = append(all, fmt.Sprintf("%s %d %s", v[0], count, v[1]))
		}
	}
	return all
}

// String is the target with its value and the verdict.
func (t Target) String() string {
	return fmt.Sprintf("%s: %s: %s (target: %s %s)", t.Verdict(), t.What, t.Told(), t.Sign, Number(t.Bound))
}

// Told is the value with its interval, if it has one.
func (t Target) Told() string {
	if t.exact() || math.IsNaN(t.Low) {
		return Number(t.Value)
	}
	return fmt.Sprintf("%s (%s to %s)", Number(t.Value), Number(t.Low), Number(t.High))
}
