package sweep

import (
	"context"
	"slices"
	"strings"
	"time"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/report"
)

// Result is the result of a sweep.
type Result struct {
	Scenario string
	Grid     Grid
	Rounds   int
	Runs     []Run
	Measured experiment.Result
	Started  time.Time
	Elapsed  time.Duration
}

// Run is a scenario with one combination.
type Run struct {
	Point  Point            `json:"settings"`
	Round  int              `json:"round"` // from 1 on
	Error  string           `json:"error,omitzero"`
	Report *report.Document `json:"report"` // null: it has none
}

// Scenario runs a scenario with a combination, and returns its report, if it has one.
type Scenario func(ctx context.Context, p Point) (*report.Document, error)

// Run runs a scenario with each combination, in an order by the seed, until ctx ends. A combination that fails is not run again.
func (r *Result) Run(ctx context.Context, seed uint64, once Scenario) {
	r.Started = time.Now()
	c := experiment.Case{Over: true}
	for _, axis := range r.Grid {
		c.Factors = append(c.Factors, axis.Flag)
	}
	ran := map[string]int{}
	for _, p := range r.Grid.Points() {
		contender := experiment.Contender{Name: p.String(), Play: func(ctx context.Context, _ time.Duration) (experiment.Sample, error) {
			ran[p.String()]++
			run := Run{Point: p, Round: ran[p.String()]}
			document, err := once(ctx, p)
			if run.Report = document; err != nil {
				run.Error = strings.Join(strings.Fields(err.Error()), " ")
			}
			r.Runs = append(r.Runs, run)
			return run.sample(), err
		}}
		for _, s := range p {
			contender.Levels = append(contender.Levels, s.Value)
		}
		c.Contenders = append(c.Contenders, contender)
	}
	r.Measured = experiment.Run(ctx, c, experiment.Rules{Seed: seed, Rounds: r.Rounds, Partial: true})
	r.Measured.Case.Metrics = r.metrics()
	r.Elapsed = time.Since(r.Started)
}

// sample are the figures of a run, unless it was interrupted.
func (r Run) sample() experiment.Sample {
	if r.Report == nil || r.Report.Interrupted {
		return nil
	}
	sample := experiment.Sample{}
	for _, f := range r.Report.Figures {
		sample[title(f)] = f.Value
	}
	return sample
}

// metrics are the figures of all runs, in the order of their first appearance.
func (r *Result) metrics() (all []experiment.Metric) {
	for _, run := range r.Runs {
		if run.sample() == nil {
			continue
		}
		for _, f := range run.Report.Figures {
			if m := (experiment.Metric{Name: title(f), Exact: true}); !slices.Contains(all, m) {
				all = append(all, m)
			}
		}
	}
	return all
}

// title is the name of a figure with its unit.
func title(f report.Figure) string {
	switch f.Unit {
	case "":
		return f.Name
	case "/s":
		return f.Name + " a second"
	}
	return f.Name + ", " + f.Unit
}
