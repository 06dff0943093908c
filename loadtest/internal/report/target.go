package report

import (
	"fmt"
	"math"
	"slices"
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
	before, found, names := Verdict(d.Targets()), false, []string{}
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
	if i := slices.Index(d.Summary, before); i >= 0 {
		d.Summary[i] = Verdict(d.Targets())
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

// verdict is one of three words.
func (t Target) verdict(met, undecided, missed string) string {
	switch {
	case t.Met:
		return met
	case t.Undecided:
		return undecided
	}
	return missed
}

// Verdict counts targets by what came of them.
func Verdict(targets []Target) string {
	n := map[string]int{}
	for _, t := range targets {
		n[t.verdict("met", "undecided", "missed")]++
	}
	text := fmt.Sprintf("%d of %d targets are met", n["met"], len(targets))
	if n["undecided"] > 0 {
		text += fmt.Sprintf(", %d undecided", n["undecided"])
	}
	return text + "."
}

// String is the target with its value and the verdict.
func (t Target) String() string { return t.figure() + ", met: " + t.verdict("yes", "undecided", "NO") }

// Markdown is the target as an item of a list.
func (t Target) Markdown() string {
	return "- " + escaped(t.figure(), "<") + ", " + t.verdict("met", "undecided", "**missed**")
}

// Told is the value with its interval, if it has one.
func (t Target) Told() string {
	if t.exact() || math.IsNaN(t.Low) {
		return Number(t.Value)
	}
	return fmt.Sprintf("%s (%s to %s)", Number(t.Value), Number(t.Low), Number(t.High))
}

// figure is the target with its value.
func (t Target) figure() string {
	return fmt.Sprintf("%s: %s (target: %s %s)", t.What, t.Told(), t.Sign, Number(t.Bound))
}
