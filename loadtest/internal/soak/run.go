package soak

import (
	"context"
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
	drill    load.Drill
	plan     *Plan
	load     load.Load
	sum      string       // of the stream
	result   *load.Result // nil: nothing was sent
	readings gauges.Readings
	before   float64 // goroutines of the service before the first request; 0: not known, as the next
	atRest   float64 // and when all has been done
}

// Run does the work at a target, audits, and reports. What ends it early, a ctx that is over among it, is an error beside the
// report of what was measured until then; where there is nothing to report the document is the zero one.
func Run(ctx context.Context, c Config, to *target.Target) (report.Document, error) {
	s := &soak{Config: c, plan: NewPlan(c.Work), drill: load.Drill{
		Scenario: "soak", Name: "soak", Seed: c.Seed, Spacing: c.Spacing, Connections: c.Connections, Prefix: c.prefix(), To: to,
	}}
	s.load = load.Load{At: s.plan.At, Operations: s.plan.operations}
	s.sum = load.Sum(s.load.At, s.load.Operations)
	return s.drill.Run(ctx, s.soak, s.tell, load.Failed, load.Unreached, load.Unknown)
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
func (s *soak) soak(ctx context.Context) (map[string]history.Stock, error) {
	services, err := load.Open(load.Config{URLs: s.drill.To.URLs, Key: s.Key, Connections: s.Connections})
	if err != nil {
		return nil, err
	}
	defer services.Close()
	switch there, err := services.Exists(ctx, s.SKU(0)); {
	case err != nil:
		return nil, err
	case there:
		return nil, fmt.Errorf("this database was soaked with seed %d before: SKU %s is there; choose another --seed", s.Seed, s.SKU(0))
	}
	stocks := s.stocks()
	creating, create := errgroup.WithContext(ctx)
	creating.SetLimit(creators)
	for sku, stock := range stocks {
		creating.Go(func() error {
			return services.Create(create, sku, client.NewSKU{Stock: stock.Units, Segments: &s.Segments})
		})
	}
	if err := creating.Wait(); err != nil {
		return nil, err
	}
	if err := services.Warm("/v1/skus/" + s.SKU(0)); err != nil {
		return nil, err
	}
	s.send(ctx, services)
	return stocks, ctx.Err()
}

// send sends the requests, and watches the machine and what is heard meanwhile.
func (s *soak) send(ctx context.Context, services *load.Services) {
	sources := gauges.Of(s.drill.To)
	if s.Length >= waitsFor {
		sources.Settle = gauges.PostgresSettles
	}
	sampler := gauges.Start(ctx, sources, min(max(s.Length/readings, atLeastEvery), atMostEvery))
	live := progress.NewLive(s.Progress, s.Length)
	defer live.Finish()
	s.load.Start = time.Now()
	s.result = services.Show(ctx, s.load, live, s.load.Start, func() string { return "" })
	s.drill.Results, s.readings = []*load.Result{s.result}, sampler.Stop()
	if ctx.Err() == nil {
		s.before, s.atRest = s.rest(ctx)
	}
}
