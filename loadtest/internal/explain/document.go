package explain

import (
	"fmt"
	"slices"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/report"
)

// Document is the report.
func (r Result) Document() (report.Document, error) {
	d, err := r.Report.Document()
	if len(r.Results) == 0 {
		return d, err
	}
	m := r.Results[0]
	d.Summary = r.design.sentences(m)
	if !m.Narrow {
		d.Warnings = append(slices.Clone(d.Warnings), fmt.Sprintf("after %d rounds not all intervals are as narrow as %.0f %%: --for says how long to go on",
			len(m.Rounds), 100*(experiment.Narrow-1)))
	}
	d.Sections[0].Notes = append(d.Sections[0].Notes, "figures are means of the rounds; in brackets the interval that holds the true one with 95 % certainty")
	d.Sections = append(effects(r.design.find(m)), d.Sections...)
	return d, err
}

// effects have a row and a bar for each finding, and then a row for each combination with the other factors.
func effects(findings []finding) []report.Section {
	brief := &report.Table{Columns: []string{"factor", "over all combinations", "least", "with", "most", "with"}}
	all := &report.Table{Columns: []string{"factor", "with", "times the orders"}}
	plot := report.Plot{Name: "effects", Title: "what each buys, over all combinations", Kind: report.Bars, Y: report.Axis{Label: "times the orders a second"}}
	bars := report.Series{}
	for _, f := range findings {
		least, most := f.Cases[0], f.Cases[len(f.Cases)-1]
		brief.Rows = append(brief.Rows, []string{f.Factor, f.Ratio.String(), least.Ratio.String(), least.With, most.Ratio.String(), most.With})
		all.Rows = append(all.Rows, []string{f.Factor, "all combinations", f.Ratio.String()})
		for _, c := range f.Cases {
			all.Rows = append(all.Rows, []string{"", c.With, c.Ratio.String()})
		}
		plot.Categories, bars.Y = append(plot.Categories, f.Factor), append(bars.Y, f.Ratio.Value)
	}
	plot.Series = []report.Series{bars}
	return []report.Section{
		{Name: "what each buys, in times the orders a second", Table: brief, Plots: []report.Plot{plot}},
		{Name: "each with the others", Table: all},
	}
}
