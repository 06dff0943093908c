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

// Break is what came of one fault of one lock.
type Break struct {
	Fault   string  `json:"fault"`
	Lock    string  `json:"lock"`
	Ours    bool    `json:"ours"`
	Broken  bool    `json:"broken"`
	Outcome string  `json:"outcome"`              // begins with broken, survived or refused
	Stale   int     `json:"stale_writes"`         // late writes that were accepted
	Refused int     `json:"stale_writes_refused"` // late writes that were refused
	Waited  float64 `json:"waited_ms"`            // until the next caller had the lock, or gave up
}

// Result is what came of all faults.
type Result struct {
	Breaks      []Break
	Started     time.Time // zero: it did not begin
	Elapsed     time.Duration
	Interrupted bool
	Environment report.Environment
	LeftOut     []string // which locks, and why

	faults []fault // that were chosen
}

// Began reports whether the run began.
func (r Result) Began() bool { return !r.Started.IsZero() }

// sections have a table for each fault, and one of the known flaws.
func (r Result) sections() (sections []report.Section) {
	brokenBy := map[string][]string{}
	for _, f := range r.faults {
		table := report.Table{Columns: []string{"", "waited ms", "stale writes accepted", "refused", "what happened"}}
		for _, b := range r.Breaks {
			if b.Fault != f.name {
				continue
			}
			table.Rows = append(table.Rows, []string{b.Lock, report.Number(b.Waited), fmt.Sprint(b.Stale), fmt.Sprint(b.Refused), b.Outcome})
			if b.Broken {
				brokenBy[b.Lock] = append(brokenBy[b.Lock], f.name)
			}
		}
		if len(table.Rows) > 0 {
			sections = append(sections, report.Section{Name: f.name, Table: &table, Notes: []string{f.steps}})
		}
	}
	known := report.Table{Columns: []string{"", "broken when the holder", "known flaw"}}
	for _, f := range flaws() {
		known.Rows = append(known.Rows, []string{f.Name, strings.Join(brokenBy[f.Name], "; "), f.Flaw})
	}
	return append(sections, report.Section{Name: "known flaws", Table: &known})
}

// flaws are the kinds that have a known flaw.
func flaws() []kinds.Kind {
	return slices.DeleteFunc(append(kinds.Textbooks(), kinds.Libraries()...), func(k kinds.Kind) bool { return k.Flaw == "" })
}

// wrong is what must not happen: one of ours broke, or a known flaw did not show.
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

// Err is what must not happen, in one line; nil: nothing did.
func (r Result) Err() error {
	if wrong := r.wrong(); len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

// Document is the report.
func (r Result) Document() (report.Document, error) {
	d := report.Document{
		Scenario: "locks-break", Started: r.Started, Elapsed: r.Elapsed.Seconds(), Interrupted: r.Interrupted, Environment: r.Environment,
		Warnings: r.LeftOut, Sections: r.sections(), Wrong: r.wrong(),
	}
	d.Summary, d.Figures = r.tell()
	d.AuditOK = len(d.Wrong) == 0
	return d, d.SetOwn(map[string]any{"breaks": r.Breaks})
}

// tell is the result in sentences, and its figures.
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
