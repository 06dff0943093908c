package breaks

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/report"
)

// Break is what came of one fault that happened to one lock.
type Break struct {
	Fault   string  `json:"fault"`
	Lock    string  `json:"lock"`
	Ours    bool    `json:"ours"`
	Broken  bool    `json:"broken"`
	Outcome string  `json:"outcome"`              // begins with broken, survived or refused
	Stale   int     `json:"stale_writes"`         // of somebody who was late, that were accepted
	Refused int     `json:"stale_writes_refused"` // of somebody who was late
	Waited  float64 `json:"waited_ms"`            // by whoever wanted the lock next; where it was never free, as long as that waited
}

// Result is what came of all faults.
type Result struct {
	Breaks      []Break
	Started     time.Time // zero: nothing could be broken
	Elapsed     time.Duration
	Interrupted bool
	Environment report.Environment
	LeftOut     []string // which locks, and why

	faults []fault // that were chosen
}

// Began tells whether anything could be broken.
func (r Result) Began() bool { return !r.Started.IsZero() }

// Sections tell each fault, and what is known of the locks that it broke.
func (r Result) Sections() (sections []report.Section) {
	for _, f := range r.faults {
		table := report.Table{Columns: []string{"", "waited ms", "stale writes accepted", "refused", "what happened"}}
		for _, b := range r.Breaks {
			if b.Fault == f.name {
				table.Rows = append(table.Rows, []string{b.Lock, report.Number(b.Waited), fmt.Sprint(b.Stale), fmt.Sprint(b.Refused), b.Outcome})
			}
		}
		if len(table.Rows) > 0 {
			sections = append(sections, report.Section{Name: f.name, Table: &table, Notes: []string{f.steps}})
		}
	}
	return append(sections, r.known())
}

// known tells the flaws.
func (r Result) known() report.Section {
	table := report.Table{Columns: []string{"", "broken when the holder", "known flaw"}}
	for _, f := range flaws() {
		var when []string
		for _, b := range r.Breaks {
			if b.Lock == f.Name && b.Broken {
				when = append(when, b.Fault)
			}
		}
		table.Rows = append(table.Rows, []string{f.Name, strings.Join(when, "; "), f.Flaw})
	}
	return report.Section{Name: "known flaws", Table: &table}
}

// flaws are what is known of locks that are not ours.
func flaws() []kinds.Kind {
	return slices.DeleteFunc(append(kinds.Textbooks(), kinds.Libraries()...), func(k kinds.Kind) bool { return k.Flaw == "" })
}

// wrong is what must not be: one of ours that was broken, and a known flaw that did not show.
func (r Result) wrong() (lines []string) {
	for _, b := range r.Breaks {
		i := slices.IndexFunc(r.faults, func(f fault) bool { return f.name == b.Fault })
		switch expected := slices.Contains(r.faults[i].breaks, b.Lock); {
		case b.Ours && b.Broken:
			lines = append(lines, fmt.Sprintf("%s: %s is %s", b.Fault, b.Lock, b.Outcome))
		case expected && !b.Broken:
			lines = append(lines, fmt.Sprintf("%s: the known flaw of %s did not show: %s", b.Fault, b.Lock, b.Outcome))
		}
	}
	return lines
}

// Err tells in one line what must not be; nil if nothing is wrong.
func (r Result) Err() error {
	if wrong := r.wrong(); len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

// Document is the result as it is told.
func (r Result) Document() (report.Document, error) {
	d := report.Document{
		Scenario: "locks-break", Started: r.Started, Elapsed: r.Elapsed.Seconds(), Interrupted: r.Interrupted, Environment: r.Environment,
		Warnings: r.LeftOut, Sections: r.Sections(), Wrong: r.wrong(),
	}
	d.Summary, d.Figures = r.tell()
	d.AuditOK = len(d.Wrong) == 0
	breaks := r.Breaks
	if breaks == nil {
		breaks = []Break{}
	}
	return d, d.SetOwn(map[string]any{"breaks": breaks})
}

// tell is the result in sentences, and the figures by which two runs are told apart.
func (r Result) tell() (summary []string, figures []report.Figure) {
	for _, of := range []struct {
		name, short string
		ours        bool
	}{{"Ours", "ours", true}, {"Textbooks and libraries", "others", false}} {
		var faults, broken, accepted, late int
		for _, b := range r.Breaks {
			if b.Ours != of.ours {
				continue
			}
			faults++
			if b.Broken {
				broken++
			}
			accepted, late = accepted+b.Stale, late+b.Stale+b.Refused
		}
		summary = append(summary, fmt.Sprintf("%s: %d of %d faults broke a lock; of %d writes that came too late %d were accepted.",
			of.name, broken, faults, late, accepted))
		figures = append(figures, report.Figure{Name: of.short + " broken", Value: float64(broken)},
			report.Figure{Name: "late writes accepted, " + of.short, Value: float64(accepted)})
	}
	return append(summary, fmt.Sprintf("A lease is %s; what is not free after %d leases counts as locked for ever.", lease, leases)), figures
}
