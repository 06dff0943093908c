package load

import (
	"context"
	"fmt"
	"time"

	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/target"
)

// Drill is a run of a scenario: what was sent, what became of it, and what the rows say.
type Drill struct {
	report.Document
	Name        string // in a sentence
	Prefix      string // of the names of its SKUs; "": the scenario audits by itself
	Services    *Services
	DatabaseURL string
	Promise     history.Promise // of the SKUs that were put up for sale
	Bad         []Outcome       // that no request may come to
	Parts       []*Result       // what was sent; nil: there is nothing to report
	All         *Result         // of all parts
	Rows        history.Rows
	Found       history.Findings
}

// At chooses the target of a drill, and opens connections to it, which Play closes. Services that the lab has not started may have
// another clock.
func (d *Drill) At(ctx context.Context, to *target.Target, key string, connections int, generator string, measurement ...string) (err error) {
	d.DatabaseURL = to.DatabaseURL
	d.Promise = history.Promise{
		Stocks: make(map[string]history.Stock), AnswerWithin: target.AnswerWithin, Staleness: time.Second, Sweep: 10 * time.Second,
	}
	if !to.Started() {
		d.Promise.Clocks = time.Hour
	}
	if d.Environment, err = to.Environment(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	d.Environment.Add("requests sent by", "this program, "+generator)
	for _, line := range measurement {
		d.Environment.Add("measurement", line)
	}
	d.Services, err = Open(Config{URLs: to.URLs, Key: key, Connections: connections, Promise: d.Promise})
	return err
}

// Play plays, and holds the answers against the rows. It returns what ended it early, such as the end of ctx; what was sent until
// then is audited, too.
func (d *Drill) Play(ctx context.Context, play func(context.Context) error) error {
	defer d.Services.Close()
	stopped := d.Run(ctx, d.Name, play)
	d.Interrupted, d.All = stopped != nil, together(d.Parts)
	if d.Prefix != "" && d.Parts != nil {
		d.Judge(history.Audit(ctx, d.DatabaseURL, d.Prefix, d.All.Operations, d.Promise))
	}
	return stopped
}

// Judge takes the rows, and what was found when the answers were held against them. Requests that came to a bad outcome are wrong,
// too.
func (d *Drill) Judge(rows history.Rows, found history.Findings) {
	d.Rows, d.Found, d.Wrong = rows, found, history.Describe(found.Violations)
	if failed := d.All.Counts(0, Forever).Of(d.Bad...); failed > 0 {
		d.Wrong = append(d.Wrong, fmt.Sprintf("%s failed or got no answer, first: %v", report.Count(failed, "request"), d.All.FirstError(d.Bad...)))
	}
}
