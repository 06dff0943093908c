package sweep

import (
	"fmt"
	"slices"

	"inventory/loadtest/internal/report"
)

// Document is all runs in one report.
func (r Result) Document() (report.Document, error) {
	d := report.Document{
		Scenario: "sweep-" + r.Scenario, Started: r.Started, Elapsed: r.Elapsed.Seconds(), Interrupted: r.Interrupted,
	}
	figures := r.figures()
	d.Summary = r.summary(figures)
	d.Figures = r.headlines(figures)
	d.Sections = []report.Section{{
		Name: "combinations", Table: r.table(figures), Plots: r.plots(figures), Notes: r.notes(),
	}}
	r.judge(&d)
	runs := r.Runs
	if runs == nil {
		runs = []Run{}
	}
	return d, d.SetOwn(struct {
		Grid   Grid  `json:"grid"`
		Rounds int   `json:"rounds"`
		Runs   []Run `json:"runs"`
	}{r.Grid, r.Rounds, runs})
}

// judge takes over what the runs have in common, and what is wrong with any of them. An audit that nobody made is none that
// is good.
func (r Result) judge(d *report.Document) {
	audited := 0
	for _, run := range r.Runs {
		if run.Report == nil {
			continue
		}
		if audited++; audited == 1 {
			d.Environment, d.Seed = run.Report.Environment, run.Report.Seed
		}
		if d.Seed != run.Report.Seed {
			d.Seed = 0
		}
		keepCommon(&d.Environment, run.Report.Environment)
		for _, wrong := range run.Report.Wrong {
			d.Wrong = append(d.Wrong, run.Point.String()+": "+wrong)
		}
		if !run.Report.AuditOK && len(run.Report.Wrong) == 0 {
			d.Wrong = append(d.Wrong, run.Point.String()+": the audit failed")
		}
		for _, warning := range run.Report.Warnings {
			d.Warnings = append(d.Warnings, run.Point.String()+": "+warning)
		}
	}
	if audited == 0 {
		d.Wrong = append(d.Wrong, "no run has come to its audit")
	}
	d.AuditOK = len(d.Wrong) == 0
}

// keepCommon drops what is not the same in another run: the grid may have changed it.
func keepCommon(e *report.Environment, other report.Environment) {
	if e.Target != other.Target {
		e.Target = ""
	}
	if e.Generator != other.Generator {
		e.Generator = ""
	}
	e.Measurement = slices.DeleteFunc(slices.Clone(e.Measurement), func(line string) bool { return !slices.Contains(other.Measurement, line) })
}

// summary tells what was run, and how far the figures are apart.
func (r Result) summary(figures []figure) []string {
	lines := []string{fmt.Sprintf("Sweep of %s over %s, runs: %d.", r.Scenario, r.Grid, len(r.Runs))}
	failed := 0
	for _, run := range r.Runs {
		if run.Error != "" {
			failed++
		}
	}
	if failed > 0 {
		lines = append(lines, fmt.Sprintf("%d of them did not end as they should.", failed))
	}
	for _, f := range figures {
		if line := r.span(f); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// span is a figure from its least to its most.
func (r Result) span(f figure) string {
	var least, most float64
	var low, high Point
	for _, p := range r.Grid.Points() {
		value, ok := f.at(p)
		if !ok {
			continue
		}
		if low == nil || value < least {
			low, least = p, value
		}
		if high == nil || value > most {
			high, most = p, value
		}
	}
	if low == nil || least == most {
		return ""
	}
	return fmt.Sprintf("%s: %s (%s) to %s (%s).", f.title(), report.Number(least), low, report.Number(most), high)
}

// headlines are the first figure of each combination.
func (r Result) headlines(figures []figure) (all []report.Figure) {
	if len(figures) == 0 {
		return nil
	}
	first := figures[0]
	for _, p := range r.Grid.Points() {
		if value, ok := first.at(p); ok {
			all = append(all, report.Figure{Name: first.name + ", " + p.String(), Unit: first.unit, Value: value})
		}
	}
	return all
}

// table has a row for each combination.
func (r Result) table(figures []figure) *report.Table {
	table := &report.Table{}
	for _, axis := range r.Grid {
		table.Columns = append(table.Columns, axis.Flag)
	}
	for _, f := range figures {
		table.Columns = append(table.Columns, f.title())
	}
	for _, p := range r.Grid.Points() {
		var row []string
		for _, s := range p {
			row = append(row, s.Value)
		}
		for _, f := range figures {
			row = append(row, f.cell(p))
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// notes tell which runs did not end as they should.
func (r Result) notes() (lines []string) {
	for _, run := range r.Runs {
		switch {
		case run.Error == "":
		case r.Rounds > 1:
			lines = append(lines, fmt.Sprintf("%s, round %d: %s", run.Point, run.Round, run.Error))
		default:
			lines = append(lines, fmt.Sprintf("%s: %s", run.Point, run.Error))
		}
	}
	return lines
}
