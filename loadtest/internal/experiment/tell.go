package experiment

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"inventory/loadtest/internal/report"
)

// String is the figure with its interval.
func (e Estimate) String() string { return report.Number(e.Value) + e.Interval() }

// Interval is the interval behind a figure, and nothing where there were too few rounds.
func (e Estimate) Interval() string {
	if math.IsNaN(e.Low) {
		return ""
	}
	return fmt.Sprintf(" (%s to %s)", report.Number(e.Low), report.Number(e.High))
}

// Section tells the case: its contenders, and what came of its targets.
func (r Result) Section(name string) report.Section {
	s := report.Section{Name: name, Table: r.table(), Plots: r.plots(name), Targets: r.Targets()}
	for _, c := range r.Case.Contenders {
		if err := r.Failed[c.Name]; err != nil {
			s.Notes = append(s.Notes, "failed: "+err.Error())
		}
	}
	return s
}

// Targets are those of the case, with their verdicts.
func (r Result) Targets() (all []report.Target) {
	for _, t := range r.Case.Targets {
		e := r.Compare(t.Comparison)
		all = append(all, report.Target{What: t.Name, Value: e.Value, Sign: t.Sign, Bound: t.Bound}.Within(e.Low, e.High))
	}
	return all
}

// Err is what contenders failed with.
func (r Result) Err() error {
	var errs []error
	for _, c := range r.Case.Contenders {
		errs = append(errs, r.Failed[c.Name])
	}
	return errors.Join(errs...)
}

// table has a row for each contender, and a column for each factor and metric.
func (r Result) table() *report.Table {
	t := &report.Table{Columns: slices.Clone(r.Case.Factors)}
	if len(t.Columns) == 0 {
		t.Columns = []string{""}
	}
	for _, m := range r.Case.Metrics {
		t.Columns = append(t.Columns, m.Name)
	}
	for _, c := range r.Case.Contenders {
		row := slices.Clone(c.Levels)
		if len(row) == 0 {
			row = []string{c.Name}
		}
		for _, m := range r.Case.Metrics {
			e := r.Of(c.Name, m.Name)
			cell := report.Number(e.Value)
			if m.Exact {
				cell = e.String()
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// plots have a bar of each contender, for each metric that is told exactly.
func (r Result) plots(name string) (all []report.Plot) {
	for _, m := range r.Case.Metrics {
		if !m.Exact {
			continue
		}
		bars := report.Series{}
		p := report.Plot{Name: report.PlotName(name, m.Name), Title: m.Name, Kind: report.Bars, Y: report.Axis{Label: m.Name}}
		for _, c := range r.Case.Contenders {
			p.Categories, bars.Y = append(p.Categories, c.Name), append(bars.Y, r.Of(c.Name, m.Name).Value)
		}
		p.Series = []report.Series{bars}
		all = append(all, p)
	}
	return all
}
