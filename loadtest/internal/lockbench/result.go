package lockbench

import (
	"fmt"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/report"
)

// leftOut is told with every result.
const leftOut = "rueidislock is not among the peers: its module could not be had where this was made."

// Result is what a run measured.
type Result struct {
	experiment.Report
	LeftOut []string // which contenders, and why
}

// Document is the result as it is told. What a lock is audited for is that it lets in one at a time.
func (r Result) Document() (report.Document, error) {
	d := r.Report.Document()
	if s := knownFlaws(r.Results); len(s.Table.Rows) > 0 {
		d.Sections = append(d.Sections, s)
	}
	d.Summary = append(d.Summary, append(r.LeftOut, leftOut)...)
	cases := []map[string]any{}
	for _, one := range r.Results {
		entry := map[string]any{"case": one.Name, "contenders": one.Entries()}
		if one.Interrupted {
			entry["unfinished"] = true
		}
		cases = append(cases, entry)
	}
	return d, d.SetOwn(map[string]any{"cases": cases})
}

// wrong tells what no lock of ours may do. A target that was missed is a result.
func wrong(r experiment.Result) (all []string) {
	for _, c := range r.Case.Contenders {
		if n := r.Of(c.Name, Violations).Value; c.Ours && n > 0 {
			all = append(all, fmt.Sprintf("%s let two in at once, %.0f times", c.Name, n))
		}
	}
	return all
}
