package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/target"
)

// Drill is a run in an open loop at a target, from its first request to its report.
type Drill struct {
	Scenario    string
	Name        string // in a sentence
	Seed        uint64
	Spacing     Spacing
	Connections int
	Prefix      string // of the names of its SKUs
	To          *target.Target
	Results     []*Result // of what was sent
	Rows        history.Rows
	Found       history.Findings
}

// Run plays, which puts the stocks up for sale, holds the answers against the rows, and has the rest of the report told. What
// ends it early, a ctx that is over among it, is an error beside the report of what was measured until then; where there is
// nothing to report the document is the zero one. No request may come to a bad outcome.
func (d *Drill) Run(ctx context.Context, play func(context.Context) (map[string]history.Stock, error), tell func(*report.Document) error, bad ...Outcome) (report.Document, error) {
	started := time.Now()
	stocks, stopped := play(ctx)
	if ctx.Err() != nil {
		stopped = fmt.Errorf("the %s was stopped: %w", d.Name, context.Cause(ctx))
	} else if stopped != nil && len(d.Results) == 0 {
		return report.Document{}, stopped
	}
	if len(d.Results) > 0 {
		d.Rows, d.Found = history.Audit(ctx, d.To.DatabaseURL(), d.Prefix, History(d.Results...), PromiseOf(d.To, stocks))
	}
	environment, unknown := d.To.Environment(context.WithoutCancel(ctx))
	environment.Generator = fmt.Sprintf("this program, open loop, %d connections", d.Connections)
	environment.Measurement = append(environment.Measurement, "latency from the planned send", fmt.Sprintf("%s arrivals", d.Spacing))
	wrong := d.Found.Violations
	document := report.Document{
		Scenario: d.Scenario, Started: started, Elapsed: time.Since(started).Seconds(), Interrupted: stopped != nil,
		Seed: d.Seed, Environment: environment, AuditOK: len(wrong) == 0, Wrong: history.Tell(wrong),
	}
	return document, errors.Join(stopped, Wrong(wrong, d.Results, bad...), unknown, tell(&document))
}
