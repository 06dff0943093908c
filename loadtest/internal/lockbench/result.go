package lockbench

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"inventory/loadtest/internal/report"
)

// Result is what a run measured.
type Result struct {
	Cases       []Case
	Started     time.Time // zero: nothing could be measured
	Elapsed     time.Duration
	Interrupted bool
	Environment report.Environment
	LeftOut     []string // which contenders, and why
}

// Case is a question and what its contenders answered.
type Case struct {
	Name       string      `json:"case"`
	Contenders []Contender `json:"contenders"`
	Unfinished bool        `json:"unfinished,omitzero"` // it was stopped before its last round
}

// Contender is a kind of lock and its figures.
type Contender struct {
	Name    string
	Ours    bool
	Figures Figures
	Note    string // what went wrong; "" nothing
}

// MarshalJSON writes the name, then the figures of all contenders, then those of its own.
func (c Contender) MarshalJSON() ([]byte, error) {
	names := append(common(), c.extras()...)
	text, err := json.Marshal(c.Name)
	if err != nil {
		return nil, err
	}
	out := append([]byte(`{"name":`), text...)
	for _, name := range names {
		out = fmt.Appendf(out, ",%q:%.6g", name, c.Figures[name])
	}
	if c.Note != "" {
		if text, err = json.Marshal(c.Note); err != nil {
			return nil, err
		}
		out = append(append(out, `,"note":`...), text...)
	}
	return append(out, '}'), nil
}

// extras are the names of figures that not every contender has.
func (c Contender) extras() []string {
	names := slices.Sorted(maps.Keys(c.Figures))
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(common(), name) })
}

// find returns the figures of a contender, empty ones if it is not there.
func (c Case) find(name string) Figures {
	for _, contender := range c.Contenders {
		if contender.Name == name {
			return contender.Figures
		}
	}
	return Figures{}
}

// bestPeer returns the figures of the peer with the highest of one.
func (c Case) bestPeer(figure string) Figures {
	return c.best(figure, func(Contender) bool { return true })
}

// bestLibrary is bestPeer among the libraries that lock on Redis.
func (c Case) bestLibrary(figure string) Figures {
	return c.best(figure, func(peer Contender) bool { return isLibrary(peer.Name) })
}

func (c Case) best(figure string, counts func(peer Contender) bool) Figures {
	best := Figures{}
	for _, peer := range c.Contenders {
		if !peer.Ours && peer.Name != sleeping && counts(peer) && peer.Figures[figure] > best[figure] {
			best = peer.Figures
		}
	}
	return best
}

// wrong tells what no lock of ours may do. A target that was missed is a result.
func (r Result) wrong() (all []string) {
	for _, c := range r.Cases {
		for _, contender := range c.Contenders {
			if n := contender.Figures[Violations]; contender.Ours && n > 0 {
				all = append(all, fmt.Sprintf("case %q: %s let two in at once, %.0f times", c.Name, contender.Name, n))
			}
			if contender.Ours && contender.Note != "" {
				all = append(all, fmt.Sprintf("case %q: %s: %s", c.Name, contender.Name, contender.Note))
			}
		}
	}
	return all
}

// Err tells in one line what no lock of ours may do; nil if none did.
func (r Result) Err() error {
	var errs []error
	for _, wrong := range r.wrong() {
		errs = append(errs, errors.New(wrong))
	}
	return errors.Join(errs...)
}
