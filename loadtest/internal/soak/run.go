package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"inventory/internal/api/client"
	"inventory/internal/progress"
	"inventory/loadtest/internal/gauges"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/target"
)

// Config says what is done, and how it is sent.
type Config struct {
	Work
	Connections int       `help:"Connections, 1 to 10000, each with one request under way. Default: ${default}." default:"64" placeholder:"NUMBER" least:"1" most:"10000"`
	Key         string    `kong:"-"` // API key of the scope admin; "": none is shown
	Progress    io.Writer `kong:"-"` // where a person watches
}

const (
	// creators is how many SKUs are created at once.
	creators = 16
	// readings is how often the machine is looked at in a run, and atMostEvery how seldom, atLeastEvery how often, in time.
	readings     = 400
	atMostEvery  = 5 * time.Second
	atLeastEvery = 250 * time.Millisecond
	// waitsFor is how long a run must be to wait for what PostgreSQL tells late.
	waitsFor = time.Minute
)

// soak is a run.
type soak struct {
	Config
	to       *target.Target
	plan     *Plan
	load     load.Load
	sum      string // of the stream
	started  time.Time
	result   *load.Result // nil: nothing was sent
	readings gauges.Readings
	before   float64 // goroutines of the service before the first request; 0: not known, as the next
	atRest   float64 // and when all has been done
	rows     history.Rows
	wrong    []history.Violation
}

// Run does the work at a target, audits, and reports. What ends it early, a ctx that is over among it, is an error beside the
// report of what was measured until then; where there is nothing to report the document is the zero one.
func Run(ctx context.Context, c Config, to *target.Target) (report.Document, error) {
	s := &soak{Config: c, to: to, started: time.Now(), plan: NewPlan(c.Work)}
	s.load = load.Load{At: s.plan.At, Operations: s.plan.operations}
	s.sum = load.Sum(s.load.At, s.load.Operations)
	stopped := s.soak(ctx)
	if ctx.Err() != nil {
		stopped = fmt.Errorf("the soak was stopped: %w", context.Cause(ctx))
	} else if stopped != nil {
		return report.Document{}, stopped
	}
	if s.result != nil {
		var found history.Findings
		s.rows, found = history.Audit(ctx, to.DatabaseURL(), s.prefix(), s.load.Operations, load.PromiseOf(to, s.stocks()))
		s.wrong = found.Violations
	}
	d, err := s.document(context.WithoutCancel(ctx), stopped != nil)
	return d, errors.Join(stopped, load.Wrong(s.wrong, results(s.result), load.Failed, load.Unreached, load.Unknown), err)
}

func results(r *load.Result) []*load.Result {
	if r == nil {
		return nil
	}
	return []*load.Result{r}
}

// stocks are what the SKUs were put up for sale with.
func (s *soak) stocks() map[string]history.Stock {
	all := make(map[string]history.Stock)
	for n := range s.SKUs {
		all[s.SKU(n)] = history.Stock{Units: s.Stock}
	}
	return all
}

// soak puts the SKUs up for sale and sends the requests.
func (s *soak) soak(ctx context.Context) error {
	services, err := load.Open(load.Config{URLs: s.to.URLs, Key: s.Key, Connections: s.Connections})
	if err != nil {
		return err
	}
	defer services.Close()
	switch there, err := services.Exists(ctx, s.SKU(0)); {
	case err != nil:
		return err
	case there:
		return fmt.Errorf("this database was soaked with seed %d before: SKU %s is there; choose another --seed", s.Seed, s.SKU(0))
	}
	creating, create := errgroup.WithContext(ctx)
	creating.SetLimit(creators)
	for sku, stock := range s.stocks() {
		creating.Go(func() error {
			return services.Create(create, sku, client.NewSKU{Stock: stock.Units, Segments: &s.Segments})
		})
	}
	if err := creating.Wait(); err != nil {
		return err
	}
	if err := services.Warm("/v1/skus/" + s.SKU(0)); err != nil {
		return err
	}
	s.send(ctx, services)
	return ctx.Err()
}

// send sends the requests, and watches the machine and what is heard meanwhile.
func (s *soak) send(ctx context.Context, services *load.Services) {
	sources := gauges.Of(s.to)
	if s.Length >= waitsFor {
		sources.Settle = gauges.PostgresSettles
	}
	sampler := gauges.Start(ctx, sources, min(max(s.Length/readings, atLeastEvery), atMostEvery))
	live := progress.NewLive(s.Progress, s.Length)
	defer live.Finish()
	s.load.Start = time.Now()
	s.result = services.Show(ctx, s.load, live, s.load.Start, func() string { return "" })
	s.readings = sampler.Stop()
	if ctx.Err() == nil {
		s.before, s.atRest = s.rest(ctx)
	}
}
