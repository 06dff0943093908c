package load

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/target"
)

// Drill is a run of a scenario: what was sent, what became of it, and what the rows say.
type Drill struct {
	Scenario    string
	Name        string // in a sentence
	Seed        uint64
	Prefix      string // of the names of its SKUs; "": the scenario audits by itself
	DatabaseURL string
	Promise     history.Promise // of the SKUs that were put up for sale
	Environment report.Environment
	Bad         []Outcome // that no request may come to
	Parts       []*Result // what was sent; nil: there is nothing to report
	All         *Result   // of all parts
	Rows        history.Rows
	Found       history.Findings

	started time.Time // zero: there is nothing to report
	took    time.Duration
	stopped error // why it ended early
}

// At chooses the target of a drill. Services that the lab has not started may have another clock.
func (d *Drill) At(ctx context.Context, to *target.Target, generator string, measurement ...string) (err error) {
	d.DatabaseURL = to.DatabaseURL()
	d.Promise = history.Promise{
		Stocks: make(map[string]history.Stock), AnswerWithin: target.AnswerWithin, Staleness: time.Second, Sweep: 10 * time.Second,
	}
	if !to.Started() {
		d.Promise.Clocks = time.Hour
	}
	d.Environment, err = to.Environment(context.WithoutCancel(ctx))
	d.Environment.Generator = "this program, " + generator
	d.Environment.Measurement = append(d.Environment.Measurement, measurement...)
	return err
}

// Play plays, and holds the answers against the rows. What ended it early, such as the end of ctx, is reported with what was
// measured until then, and is the error where there is nothing to report.
func (d *Drill) Play(ctx context.Context, play func(context.Context) error) error {
	started := time.Now()
	d.stopped = play(ctx)
	if ctx.Err() != nil {
		d.stopped = fmt.Errorf("the %s was stopped: %w", d.Name, context.Cause(ctx))
	} else if d.stopped != nil && d.Parts == nil {
		return d.stopped
	}
	d.All = together(d.Parts)
	if d.Prefix != "" && d.Parts != nil {
		d.Rows, d.Found = history.Audit(ctx, d.DatabaseURL, d.Prefix, d.All.Operations, d.Promise)
	}
	d.started, d.took = started, time.Since(started)
	return nil
}

// Began reports whether there is anything to report.
func (d *Drill) Began() bool { return !d.started.IsZero() }

// Interrupted reports whether it ended early.
func (d *Drill) Interrupted() bool { return d.stopped != nil }

// Head is what the report of every drill has.
func (d *Drill) Head() report.Document {
	return report.Document{
		Scenario: d.Scenario, Started: d.started, Elapsed: d.took.Seconds(), Interrupted: d.Interrupted(), Seed: d.Seed,
		Environment: d.Environment, AuditOK: len(d.Found.Violations) == 0, Wrong: history.Describe(d.Found.Violations),
	}
}

// Err is what must not happen: an early end, broken promises, and requests that came to a bad outcome.
func (d *Drill) Err() error {
	var wrong []string
	if broken := d.Found.Violations; len(broken) > 0 {
		wrong = append(wrong, fmt.Sprintf("the audit failed: %d problems, first: %s: %s", len(broken), broken[0].Name, broken[0].What))
	}
	if failed := d.All.Counts(0, Forever).Of(d.Bad...); failed > 0 {
		wrong = append(wrong, fmt.Sprintf("%d requests failed or got no answer, first: %v", failed, d.All.FirstError(d.Bad...)))
	}
	if len(wrong) == 0 {
		return d.stopped
	}
	return errors.Join(d.stopped, errors.New(strings.Join(wrong, "; and ")))
}
