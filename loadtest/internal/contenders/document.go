package contenders

import (
	"fmt"

	"inventory/loadtest/internal/report"
)

// Document is the result as it is told.
func (r Result) Document() (report.Document, error) {
	d := report.Document{
		Scenario: "contenders", Started: r.Started, Elapsed: r.Elapsed.Seconds(), Interrupted: r.Interrupted,
		Environment: r.Environment, AuditOK: r.AuditOK(),
	}
	met, targets := 0, 0
	for _, c := range r.Cases {
		d.Sections = append(d.Sections, c.section())
		d.Wrong = append(d.Wrong, c.Wrong...)
		if best, ok := c.best(); ok {
			d.Summary, d.Figures = append(d.Summary, c.sentence(best)), append(d.Figures, c.figures(best)...)
		}
		for _, t := range c.Targets {
			targets++
			if t.Met {
				met++
			}
		}
	}
	d.Summary = append([]string{fmt.Sprintf("%d of %d targets are met.", met, targets)}, d.Summary...)
	return d, d.SetOwn(r.own())
}

// own are the members of the document that only this scenario has.
type own struct {
	InProcess     []Entry         `json:"in_process"`
	HTTP          []Entry         `json:"http"`
	Targets       []report.Target `json:"rows"`
	SKUs          int             `json:"skus_audited"`
	Rounds        int             `json:"rounds"`
	WindowSeconds float64         `json:"window_seconds"`
}

func (r Result) own() own {
	out := own{Rounds: r.Rounds, WindowSeconds: r.Window.Seconds()}
	for _, c := range r.Cases {
		for _, e := range c.Entries {
			e.Case = c.Name
			if !c.http {
				out.InProcess = append(out.InProcess, e)
				continue
			}
			e.Connections, e.Callers = e.Callers, 0
			if e.RatioTo == noopName {
				e.RatioToNoop = e.Ratio
			}
			out.HTTP = append(out.HTTP, e)
		}
		out.Targets = append(out.Targets, c.Targets...)
		out.SKUs += c.SKUs
	}
	return out
}

// section is a case as it is told.
func (c Case) section() report.Section {
	s := report.Section{Name: c.Name, Targets: c.Targets, Notes: c.remarks()}
	if len(c.Entries) > 0 {
		s.Table, s.Plots = c.table(), c.plots()
	}
	return s
}

// remarks are what the audit found, and what went wrong.
func (c Case) remarks() (lines []string) {
	if c.Unfinished {
		lines = append(lines, "stopped early: these are the rounds until then, and no target was tried")
	}
	for _, e := range c.Entries {
		if e.Note != "" {
			lines = append(lines, fmt.Sprintf("note: %s, %d: %s", e.Name, e.Callers, e.Note))
		}
	}
	if len(c.Wrong) == 0 {
		return append(lines, fmt.Sprintf("audit of %d SKUs: OK", c.SKUs))
	}
	for _, wrong := range c.Wrong {
		lines = append(lines, "audit: "+wrong)
	}
	return lines
}

// best is the entry that the case is about, with the most callers.
func (c Case) best() (best Entry, ok bool) {
	for _, e := range c.Entries {
		if e.Name == c.about && e.Callers >= best.Callers {
			best, ok = e, true
		}
	}
	return best, ok
}

// sentence is what a case comes to.
func (c Case) sentence(best Entry) string {
	text := fmt.Sprintf("%s: %s accepts %s orders a second of %s", c.Name, best.Name, report.Number(best.Accepted),
		c.crowd(best.Callers))
	if best.RatioTo != "" && best.RatioTo != best.Name {
		text += fmt.Sprintf(", %.3g times %s", best.Ratio, best.RatioTo)
	}
	return text + fmt.Sprintf("; 99%% have their answer within %s ms.", report.Number(best.P99))
}

// figures are those by which two runs are told apart.
func (c Case) figures(best Entry) []report.Figure {
	name := fmt.Sprintf("%s, %s, %s", c.Name, best.Name, c.crowd(best.Callers))
	return []report.Figure{
		{Name: name, Unit: "/s", Value: best.Accepted},
		{Name: name + ", p99", Unit: "ms", Value: best.P99},
	}
}
