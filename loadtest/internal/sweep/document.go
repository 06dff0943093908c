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
	d := report.Document{
		Scenario: "sweep-" + r.Scenario, Started: r.Started, Elapsed: r.Elapsed.Seconds(), Interrupted: r.Measured.Interrupted,
	}
	d.Summary = r.summary()
	d.Figures, d.Raw = r.headlines(), experiment.Raw(r.Measured)
	section := r.Measured.Section("combinations")
	section.Notes = r.Failed()
	d.Sections = []report.Section{section}
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
	told := r.told(metric)
	if len(told) == 0 {
		return ""
	}
	value := func(p Point) float64 { return r.Measured.Of(p.String(), metric).Value }
	byValue := func(a, b Point) int { return cmp.Compare(value(a), value(b)) }
	low, high := slices.MinFunc(told, byValue), slices.MaxFunc(told, byValue)
	if value(low) == value(high) {
		return ""
	}
	return fmt.Sprintf("%s: %s (%s) to %s (%s).", metric, report.Number(value(low)), low, report.Number(value(high)), high)
}

// told are the combinations that have a metric.
func (r Result) told(metric string) []Point {
	return slices.DeleteFunc(r.Grid.Points(), func(p Point) bool { return r.Measured.Of(p.String(), metric).Rounds == 0 })
}

// headlines are the first metric of each combination.
func (r Result) headlines() (all []report.Figure) {
	if len(r.Measured.Case.Metrics) == 0 {
		return nil
	}
	first := r.Measured.Case.Metrics[0].Name
	for _, p := range r.told(first) {
		all = append(all, report.Figure{Name: first + ", " + p.String(), Value: r.Measured.Of(p.String(), first).Value})
	}
	return all
}

// Failed tells which runs did not end as they should, and why.
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
