package contenders

import (
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/report"
)

// Result is what a run measured.
type Result struct {
	experiment.Report
	scale Scale
}

// The metrics of all cases.
const (
	accepted   = "accepted per second"
	answers    = "answers per second" // acceptances, replays and refusals
	p50        = "p50 ms"
	p99        = "p99 ms"
	leastShare = "least share" // of the whole, that the process with the least got
	rows       = "rows"
	// counted is what ratios are of: acceptances, or answers where every right one counts.
	counted = "what counts per second"
)

func metrics() []experiment.Metric {
	return []experiment.Metric{
		{Name: accepted, Exact: true},
		{Name: answers},
		{Name: p50},
		{Name: p99, Exact: true, Log: true},
		{Name: leastShare},
		{Name: "accepted", Sum: true},
		{Name: "replayed", Sum: true},
		{Name: "refused", Sum: true},
		{Name: "gave up", Sum: true},
		{Name: "unheard", Sum: true},
		{Name: rows, Sum: true},
	}
}

// atLeast is a target for a ratio.
func atLeast(what, metric, of, to string, bound float64) experiment.Target {
	return experiment.Target{Name: what, Of: experiment.Times(metric, of, to), Sign: report.MoreThan, Bound: bound}
}

// Document is the result as it is told.
func (r Result) Document() (report.Document, error) {
	d := r.Report.Document()
	entries := map[bool][]map[string]any{true: {}, false: {}} // by whether they are over HTTP
	for _, q := range questions() {
		one := r.Result(q.name)
		if one == nil {
			continue
		}
		for _, e := range one.Entries() {
			e["case"] = q.name
			if ratio, has := e["ratio"]; has {
				e["ratio_to"] = q.ratio
				if q.ratio == noopName {
					e["ratio_to_noop"] = ratio
				}
			}
			entries[q.http] = append(entries[q.http], e)
		}
	}
	return d, d.SetOwn(map[string]any{
		"in_process": entries[false], "http": entries[true], "rows": r.Targets(), "skus_audited": r.Audited(),
		"rounds": r.scale.Rounds, "window_seconds": r.scale.Window.Seconds(),
	})
}
