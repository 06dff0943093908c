package lockbench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"inventory/loadtest/internal/compare"
)

// Result is what a run measured.
type Result struct {
	Cases []Case `json:"cases"`
}

// Case is a question and what its contenders answered.
type Case struct {
	Name       string      `json:"case"`
	Contenders []Contender `json:"contenders"`
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
	return c.best(figure, func(peer Contender) bool { return peer.Name != advisoryName })
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

// Targets are those of a case.
func (c Case) Targets() []compare.Target {
	for _, q := range questions() {
		if q.name == c.Name && q.targets != nil {
			return q.targets(c)
		}
	}
	return nil
}

// Err tells in one line what no lock of ours may do; nil if none did. A target that was missed is a result.
func (r Result) Err() error {
	var errs []error
	for _, c := range r.Cases {
		for _, contender := range c.Contenders {
			if n := contender.Figures[Violations]; contender.Ours && n > 0 {
				errs = append(errs, fmt.Errorf("case %q: %s let two in at once, %.0f times", c.Name, contender.Name, n))
			}
			if contender.Ours && contender.Note != "" {
				errs = append(errs, fmt.Errorf("case %q: %s: %s", c.Name, contender.Name, contender.Note))
			}
		}
	}
	return errors.Join(errs...)
}

// PrintJSON prints one object.
func (r Result) PrintJSON(to io.Writer) error { return json.NewEncoder(to).Encode(r) }
