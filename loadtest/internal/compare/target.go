package compare

import (
	"encoding/json"
	"fmt"
)

// Target is what one of our figures has to reach.
type Target struct {
	What      string
	Value     float64
	Bound     float64
	Ascending bool // more is better
}

// AtLeast is a target of which more is better.
func AtLeast(what string, value, bound float64) Target { return Target{what, value, bound, true} }

// AtMost is a target of which less is better.
func AtMost(what string, value, bound float64) Target { return Target{what, value, bound, false} }

// Met tells whether it was reached.
func (t Target) Met() bool {
	if t.Ascending {
		return t.Value >= t.Bound
	}
	return t.Value <= t.Bound
}

// String is the target with its value and the verdict.
func (t Target) String() string {
	if t.Met() {
		return t.figure() + ", met: yes"
	}
	return t.figure() + ", met: NO"
}

// Markdown is the target as an item of a list.
func (t Target) Markdown() string {
	if t.Met() {
		return "- " + t.figure() + ", met"
	}
	return "- " + t.figure() + ", **missed**"
}

// figure is the target with its value.
func (t Target) figure() string {
	return fmt.Sprintf("%s: %.3g (target: %s %.3g)", t.What, t.Value, t.sign(), t.Bound)
}

func (t Target) sign() string {
	if t.Ascending {
		return "at least"
	}
	return "at most"
}

// MarshalJSON adds the verdict.
func (t Target) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		What  string  `json:"what"`
		Value float64 `json:"value"`
		Sign  string  `json:"sign"`
		Bound float64 `json:"bound"`
		Met   bool    `json:"met"`
	}{t.What, t.Value, t.sign(), t.Bound, t.Met()})
}
