package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
	Undecided bool    `json:"undecided,omitzero"` // the bound is within the interval, or nobody knows the interval
}

// Sign is the side of its bound on which a value must be.
type Sign string

// The signs.
const (
	MoreThan Sign = "at least"
	LessThan Sign = "at most"
)

// AtLeast is a target of which more is better.
func AtLeast(what string, value, bound float64) Target {
	return Target{What: what, Value: value, Sign: MoreThan, Bound: bound}.judged(value, value)
}

// AtMost is a target of which less is better.
func AtMost(what string, value, bound float64) Target {
	return Target{What: what, Value: value, Sign: LessThan, Bound: bound}.judged(value, value)
}

// Within is a target whose true value lies in an interval. It is met where all of the interval meets it, and missed where
// nothing does. A value that is no number was not measured: that misses every target.
func (t Target) Within(low, high float64) Target {
	t.Low, t.High = low, high
	return t.judged(low, high)
}

func (t Target) judged(low, high float64) Target {
	reaches := func(value float64) bool { return value >= t.Bound }
	if t.Sign == LessThan {
		reaches = func(value float64) bool { return value <= t.Bound }
	}
	measured := !math.IsNaN(t.Value)
	known := !math.IsNaN(low) && !math.IsNaN(high) && reaches(low) == reaches(high)
	t.Met, t.Undecided = measured && known && reaches(low), measured && !known
	return t
}

// rebound is the target with another bound.
func (t Target) rebound(bound float64) Target {
	t.Bound = bound
	if t.Low == 0 && t.High == 0 {
		return t.judged(t.Value, t.Value)
	}
	return t.judged(t.Low, t.High)
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
	d.Sections = slices.Clone(d.Sections)
	for i, s := range d.Sections {
		s.Targets = slices.Clone(s.Targets)
		for j, t := range s.Targets {
			names = append(names, t.What)
			if t.What == name {
				s.Targets[j], found = t.rebound(bound), true
			}
		}
		d.Sections[i] = s
	}
	if !found {
		return fmt.Errorf("there is no target %q; there are %q", name, names)
	}
	if i := slices.Index(d.Summary, before); i >= 0 {
		d.Summary = slices.Clone(d.Summary)
		d.Summary[i] = Verdict(d.Targets())
	}
	return d.setOwnBound(name, bound)
}

// setOwnBound does the same to the targets among the members that only one scenario has.
func (d *Document) setOwnBound(name string, bound float64) error {
	if len(d.Own) == 0 {
		return nil
	}
	var own map[string]jsontext.Value
	if err := json.Unmarshal(d.Own, &own); err != nil {
		return fmt.Errorf("read the members of %s: %w", d.Scenario, err)
	}
	for member, value := range own {
		var targets []Target
		if json.Unmarshal(value, &targets, readsNumbers()) != nil || !slices.ContainsFunc(targets, func(t Target) bool { return t.What == name && t.Sign != "" }) {
			continue // no targets
		}
		for i, t := range targets {
			if t.What == name {
				targets[i] = t.rebound(bound)
			}
		}
		text, err := json.Marshal(targets, writesNumbers())
		if err != nil {
			return fmt.Errorf("write the targets of %s: %w", d.Scenario, err)
		}
		own[member] = text
	}
	return d.SetOwn(own)
}

// Missed are the targets that were missed. What is undecided was not.
func (d Document) Missed() (names []string) {
	for _, t := range d.Targets() {
		if t.missed() {
			names = append(names, t.What)
		}
	}
	return names
}

func (t Target) missed() bool { return !t.Met && !t.Undecided }

// Verdict counts targets by what came of them.
func Verdict(targets []Target) string {
	met, undecided := 0, 0
	for _, t := range targets {
		switch {
		case t.Met:
			met++
		case t.Undecided:
			undecided++
		}
	}
	text := fmt.Sprintf("%d of %d targets are met", met, len(targets))
	if undecided > 0 {
		text += fmt.Sprintf(", %d undecided", undecided)
	}
	return text + "."
}

// String is the target with its value and the verdict.
func (t Target) String() string {
	switch {
	case t.Met:
		return t.figure() + ", met: yes"
	case t.Undecided:
		return t.figure() + ", met: undecided"
	}
	return t.figure() + ", met: NO"
}

// Markdown is the target as an item of a list.
func (t Target) Markdown() string {
	verdict := "**missed**"
	switch {
	case t.Met:
		verdict = "met"
	case t.Undecided:
		verdict = "undecided"
	}
	return "- " + escaped(t.figure(), "<") + ", " + verdict
}

// Told is the value with its interval, where it has one.
func (t Target) Told() string {
	if t.Low == 0 && t.High == 0 {
		return Number(t.Value)
	}
	return fmt.Sprintf("%s (%s to %s)", Number(t.Value), Number(t.Low), Number(t.High))
}

// figure is the target with its value.
func (t Target) figure() string {
	return fmt.Sprintf("%s: %s (target: %s %s)", t.What, t.Told(), t.Sign, Number(t.Bound))
}
