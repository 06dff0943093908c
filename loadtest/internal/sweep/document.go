package sweep

import (
	"cmp"
	"fmt"
	"slices"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/report"
)

// Document is all runs in one report.
func (r Result) Document() (report.Document, error) {
	section := r.Measured.Section("combinations")
	section.Notes = r.Failed()
	d := report.Document{
		Scenario: "sweep-" + r.Scenario, Started: r.Started, Elapsed: r.Elapsed.Seconds(), Interrupted: r.Measured.Interrupted,
		Summary: r.summary(), Figures: r.headlines(), Sections: []report.Section{section}, Raw: experiment.Raw(r.Measured),
	}
	r.judge(&d)
	return d, d.SetOwn(map[string]any{"grid": r.Grid, "rounds": r.Rounds, "runs": append([]Run{}, r.Runs...)})
}

// judge adds what the runs have in common, and what is wrong with any of them. Without an audit the report is wrong.
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

// keepCommon drops what differs in another run: the grid may have changed it.
func keepCommon(e *report.Environment, other report.Environment) {
	if e.Target != other.Target {
		e.Target = ""
	}
	if e.Generator != other.Generator {
		e.Generator = ""
	}
	e.Measurement = slices.DeleteFunc(slices.Clone(e.Measurement), func(line string) bool { return !slices.Contains(other.Measurement, line) })
}

// summary has the runs, and how much their figures differ.
func (r Result) summary() []string {
	lines := []string{fmt.Sprintf("Sweep of %s over %s, runs: %d.", r.Scenario, r.Grid, len(r.Runs))}
	if failed := len(r.Failed()); failed > 0 {
		lines = append(lines, fmt.Sprintf("%d of them did not end as they should.", failed))
	}
	for _, m := range r.Measured.Case.Metrics {
		if line := r.span(m.Name); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// span is a metric from its least to its most.
func (r Result) span(metric string) string {
	points := r.having(metric)
	if len(points) == 0 {
		return ""
	}
	value := func(p Point) float64 { return r.Measured.Of(p.String(), metric).Value }
	byValue := func(a, b Point) int { return cmp.Compare(value(a), value(b)) }
	low, high := slices.MinFunc(points, byValue), slices.MaxFunc(points, byValue)
	if value(low) == value(high) {
		return ""
	}
	return fmt.Sprintf("%s: %s (%s) to %s (%s).", metric, report.Number(value(low)), low, report.Number(value(high)), high)
}

// having are the combinations that have a metric.
func (r Result) having(metric string) []Point {
	return slices.DeleteFunc(r.Grid.Points(), func(p Point) bool { return r.Measured.Of(p.String(), metric).Rounds == 0 })
}

// headlines are the first metric of each combination.
func (r Result) headlines() (all []report.Figure) {
	if len(r.Measured.Case.Metrics) == 0 {
		return nil
	}
	first := r.Measured.Case.Metrics[0].Name
	for _, p := range r.having(first) {
		all = append(all, report.Figure{Name: first + ", " + p.String(), Value: r.Measured.Of(p.String(), first).Value})
	}
	return all
}

// Failed has a line for each run that failed.
func (r Result) Failed() (lines []string) {
	for _, run := range r.Runs {
		name := run.Point.String()
		if r.Rounds > 1 {
			name += fmt.Sprintf(", round %d", run.Round)
		}
		if run.Error != "" {
			lines = append(lines, name+": "+run.Error)
		}
	}
	return lines
}
