package explain

import (
	"fmt"
	"slices"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/report"
)

// Document is the result as it is told.
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
	cells := m.Section("cells")
	cells.Notes = append(cells.Notes, "figures are means of the rounds; in brackets the interval that holds the true one with 95 % certainty")
	if r.SKUs > 0 && d.AuditOK {
		cells.Notes = append(cells.Notes, fmt.Sprintf("audit of %d SKUs: OK, the rows are those that callers were told of", r.SKUs))
	}
	d.Sections = []report.Section{{Name: "what each buys", Table: effectTable(findings), Plots: []report.Plot{effectPlot(findings)}}, cells}
	return d, d.SetOwn(own{Rounds: len(m.Rounds), Narrow: m.Narrow, Effects: findings, Cells: r.cells(), SKUs: r.SKUs})
}

// own are the members of the document that only this scenario has.
type own struct {
	Rounds  int       `json:"rounds"`
	Narrow  bool      `json:"narrow"` // all intervals are as narrow as they need be
	Effects []finding `json:"effects"`
	Cells   []cell    `json:"cells"`
	SKUs    int       `json:"skus_audited"`
}

// cell is a combination, and what it sold.
type cell struct {
	Levels  map[string]string              `json:"levels"` // by factor
	Metrics map[string]experiment.Estimate `json:"metrics"`
}

func (r Result) cells() (all []cell) {
	for _, c := range r.measured().Case.Contenders {
		out := cell{map[string]string{}, map[string]experiment.Estimate{}}
		for i, f := range factors() {
			out.Levels[f.name] = c.Levels[i]
		}
		for _, m := range metrics() {
			out.Metrics[m.Name] = r.measured().Of(c.Name, m.Name)
		}
		all = append(all, out)
	}
	return all
}

// effectTable has a row for each factor and combination.
func effectTable(findings []finding) *report.Table {
	t := &report.Table{Columns: []string{"factor", "with", "times the orders"}}
	for _, f := range findings {
		t.Rows = append(t.Rows, []string{f.Factor, "all combinations", f.Ratio.String()})
		for _, c := range f.Cases {
			t.Rows = append(t.Rows, []string{"", c.With, c.Ratio.String()})
		}
	}
	return t
}

// effectPlot has a bar for each factor.
func effectPlot(findings []finding) report.Plot {
	p := report.Plot{Name: "effects", Title: "what each buys, over all combinations", Kind: report.Bars, Y: report.Axis{Label: "times the orders a second"}}
	bars := report.Series{}
	for _, f := range findings {
		p.Categories, bars.Y = append(p.Categories, f.Factor), append(bars.Y, f.Ratio.Value)
	}
	p.Series = []report.Series{bars}
	return p
}
