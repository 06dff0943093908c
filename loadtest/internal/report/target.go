package report

import "fmt"

// Target is what a figure has to reach.
type Target struct {
	What  string  `json:"what"`
	Value float64 `json:"value"`
	Sign  Sign    `json:"sign"`
	Bound float64 `json:"bound"`
	Met   bool    `json:"met"`
}

// Sign is the side of its bound on which a value must be.
type Sign string

// The signs.
const (
	atLeast Sign = "at least"
	atMost  Sign = "at most"
)

// AtLeast is a target of which more is better.
func AtLeast(what string, value, bound float64) Target {
	return Target{what, value, atLeast, bound, value >= bound}
}

// AtMost is a target of which less is better.
func AtMost(what string, value, bound float64) Target {
	return Target{what, value, atMost, bound, value <= bound}
}

// String is the target with its value and the verdict.
func (t Target) String() string {
	if t.Met {
		return t.figure() + ", met: yes"
	}
	return t.figure() + ", met: NO"
}

// Markdown is the target as an item of a list.
func (t Target) Markdown() string {
	if t.Met {
		return "- " + escaped(t.figure(), "<") + ", met"
	}
	return "- " + escaped(t.figure(), "<") + ", **missed**"
}

// figure is the target with its value.
func (t Target) figure() string {
	return fmt.Sprintf("%s: %s (target: %s %s)", t.What, Number(t.Value), t.Sign, Number(t.Bound))
}
