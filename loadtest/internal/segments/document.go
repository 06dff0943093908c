package segments

import (
	"cmp"
	"fmt"
	"slices"

	"inventory/loadtest/internal/report"
)

// Document is the result as it is told.
func (r Result) Document() (report.Document, error) {
	d := report.Document{
		Scenario: "segments", Started: r.Started, Elapsed: r.Elapsed.Seconds(), Interrupted: r.Interrupted,
		Environment: r.Environment, AuditOK: r.AuditOK(), Wrong: r.Wrong,
	}
	for _, c := range r.cases() {
		d.Summary, d.Figures = append(d.Summary, c.sentence), append(d.Figures, c.figures...)
		d.Sections = append(d.Sections, c.section)
	}
	if r.AuditOK() {
		d.Summary = append(d.Summary, fmt.Sprintf("audit of %d SKUs: OK, the rows are those that callers were told of.", r.SKUs))
	}
	own := own{
		Segments: r.Segments, Stopped: r.Stopped, Overload: r.Overload, Targets: r.Targets(), SKUs: r.SKUs,
		Unfinished: r.Unfinished, Settings: r.Settings,
	}
	return d, d.SetOwn(own)
}

// own are the members of the document that only this scenario has.
type own struct {
	Segments   []Entry         `json:"segments"`
	Stopped    *Stopped        `json:"stopped"`
	Overload   *Overload       `json:"overload"`
	Targets    []report.Target `json:"targets"`
	SKUs       int             `json:"skus_audited"`
	Unfinished string          `json:"unfinished,omitzero"` // the case that was stopped before its last round
	Settings
}

// told is a case as it is told.
type told struct {
	sentence string
	figures  []report.Figure
	section  report.Section
}

// cases are those that were measured.
func (r Result) cases() (all []told) {
	if len(r.Segments) > 0 {
		all = append(all, told{r.mostSold(), r.matrixFigures(), report.Section{
			Name: matrixCase, Table: matrixTable(r.Segments), Plots: matrixPlots(r.Segments),
		}})
	}
	if s := r.Stopped; s != nil {
		all = append(all, told{s.sentence(), s.figures(), report.Section{
			Name: stoppedCase, Table: s.table(), Plots: s.plots(), Targets: s.targets,
		}})
	}
	if o := r.Overload; o != nil {
		all = append(all, told{o.sentence(), o.figures(), report.Section{
			Name: overloadCase, Table: o.table(), Plots: o.plots(), Targets: o.targets,
		}})
	}
	for i, c := range all {
		if c.section.Name == r.Unfinished {
			all[i].section.Notes = []string{"stopped early: these are the rounds until then"}
		}
	}
	return all
}

// best are the entries that sold most, one for each number of processes.
func (r Result) best() (all []Entry) {
	for _, processes := range numbers(r.Segments, func(e Entry) int { return e.Processes }) {
		of := slices.DeleteFunc(slices.Clone(r.Segments), func(e Entry) bool { return e.Processes != processes })
		all = append(all, slices.MaxFunc(of, func(a, b Entry) int { return cmp.Compare(a.Accepted, b.Accepted) }))
	}
	return all
}

// numbers are those that entries have, each once.
func numbers(entries []Entry, of func(e Entry) int) (all []int) {
	for _, e := range entries {
		all = append(all, of(e))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (r Result) mostSold() string {
	text := matrixCase + ": most is sold"
	for i, e := range r.best() {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(" by %s from %s (%s orders a second)", counted(e.Processes, "process", "processes"),
			counted(e.Segments, "segment", "segments"), report.Number(e.Accepted))
	}
	return text + "."
}

func counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func (r Result) matrixFigures() (all []report.Figure) {
	for _, e := range r.best() {
		name := "most, " + counted(e.Processes, "process", "processes")
		all = append(all, report.Figure{Name: name, Unit: "/s", Value: e.Accepted}, report.Figure{Name: name + ", p99", Unit: "ms", Value: e.P99})
	}
	return all
}

func (s *Stopped) sentence() string {
	return fmt.Sprintf("%s: while one of three stands still, the others sell %.2f times what two sell alone; it sells its part %s s after.",
		stoppedCase, s.WhileToTwo, report.Number(s.Back))
}

func (s *Stopped) figures() []report.Figure {
	return []report.Figure{
		{Name: "while one stands still, times two alone", Value: s.WhileToTwo},
		{Name: "back after", Unit: "s", Value: s.Back},
	}
}

func (o *Overload) sentence() string {
	return fmt.Sprintf("%s: asked for three times what it can, the service accepts %s orders a second, %.2f of its capacity; 99%% of them wait %s ms at most.",
		overloadCase, report.Number(o.Goodput), o.ToCapacity, report.Number(o.P99))
}

func (o *Overload) figures() []report.Figure {
	return []report.Figure{
		{Name: "goodput", Unit: "/s", Value: o.Goodput},
		{Name: "goodput, in parts of the capacity", Value: o.ToCapacity},
		{Name: "p99 under overload", Unit: "ms", Value: o.P99},
	}
}
