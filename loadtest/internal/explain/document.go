package explain

import (
	"fmt"
	"slices"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/report"
)

// Document is the report.
func (r Result) Document() (report.Document, error) {
	d, m := r.Report.Document(), r.measured()
	d.Summary, d.Warnings, d.Figures = sentences(m), slices.Clone(r.Warnings), nil
	if !m.Narrow {
		d.Warnings = append(d.Warnings, fmt.Sprintf("after %d rounds not all intervals are as narrow as %.0f %%: --for says how long to go on",
			len(m.Rounds), 100*(experiment.Narrow-1)))
	}
	findings := find(m)
	for _, f := range findings {
		d.Figures = append(d.Figures, report.Figure{Name: f.Factor, Unit: "times", Value: f.Ratio.Value})
	}
	m.SKUs, m.Wrong = r.SKUs, r.Wrong
	cells := m.Section("cells")
	cells.Notes = append(cells.Notes, "figures are means of the rounds; in brackets the interval that holds the true one with 95 % certainty")
	d.Sections = []report.Section{effects(findings), cells}
	return d, d.SetOwn(map[string]any{"rounds": len(m.Rounds), "narrow": m.Narrow, "effects": findings, "cells": entries(m), "skus_audited": r.SKUs})
}

// entries are the combinations as JSON objects.
func entries(r experiment.Result) (all []map[string]any) {
	for _, c := range r.Case.Contenders {
		levels, metrics := map[string]string{}, map[string]experiment.Estimate{}
		for i, factor := range r.Case.Factors {
			levels[factor] = c.Levels[i]
		}
		for _, m := range r.Case.Metrics {
			metrics[m.Name] = r.Of(c.Name, m.Name)
		}
		all = append(all, map[string]any{"levels": levels, "metrics": metrics})
	}
	return all
}

// effects have a row for each factor and combination, and a bar for each factor.
func effects(findings []finding) report.Section {
	table := &report.Table{Columns: []string{"factor", "with", "times the orders"}}
	plot := report.Plot{Name: "effects", Title: "what each buys, over all combinations", Kind: report.Bars, Y: report.Axis{Label: "times the orders a second"}}
	bars := report.Series{}
	for _, f := range findings {
		table.Rows = append(table.Rows, []string{f.Factor, "all combinations", f.Ratio.String()})
		for _, c := range f.Cases {
			table.Rows = append(table.Rows, []string{"", c.With, c.Ratio.String()})
		}
		plot.Categories, bars.Y = append(plot.Categories, f.Factor), append(bars.Y, f.Ratio.Value)
	}
	plot.Series = []report.Series{bars}
	return report.Section{Name: "what each buys", Table: table, Plots: []report.Plot{plot}}
}
