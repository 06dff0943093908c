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
	// waitsFor is the length of a run that waits for late counters of PostgreSQL.
	waitsFor = time.Minute
)

// Soak is a run.
type Soak struct {
	Config
	load.Drill
	to       *target.Target
	plan     *Plan
	readings gauges.Readings
	before   float64 // goroutines of the service before the first request; 0: not known, as the next
	atRest   float64 // and when all has been done
}

// Run does the work at a target, and audits. An interrupted run keeps what was measured.
func Run(ctx context.Context, c Config, to *target.Target) (*Soak, error) {
	s := &Soak{Config: c, to: to, plan: NewPlan(c.Work), Drill: load.Drill{
		Scenario: "soak", Name: "soak", Seed: c.Seed, Prefix: c.prefix(), Bad: []load.Outcome{load.Failed, load.Unreached, load.Unknown},
	}}
	if err := s.AtOpenLoop(ctx, to, c.Connections, c.Spacing); err != nil {
		return s, err
	}
	return s, s.Play(ctx, s.play)
}

// play puts the SKUs up for sale and sends the requests.
func (s *Soak) play(ctx context.Context) error {
	services, err := load.Open(load.Config{URLs: s.to.URLs, Key: s.Key, Connections: s.Connections})
	if err != nil {
		return err
	}
	defer services.Close()
	if err := services.Fresh(ctx, fmt.Sprintf("this database was soaked with seed %d before", s.Config.Seed), s.SKU(0)); err != nil {
		return err
	}
	creating, create := errgroup.WithContext(ctx)
	creating.SetLimit(creators)
	for n := range s.SKUs {
		s.Promise.Stocks[s.SKU(n)] = history.Stock{Units: s.Stock}
		creating.Go(func() error {
			return services.Create(create, s.SKU(n), client.NewSKU{Stock: s.Stock, Segments: &s.Segments})
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

// send sends the requests, and watches the machine and the answers.
func (s *Soak) send(ctx context.Context, services *load.Services) {
	sources := gauges.Of(s.to)
	if s.Length >= waitsFor {
		sources.Settle = gauges.PostgresSettles
	}
	sampler := gauges.Start(ctx, sources, min(max(s.Length/readings, atLeastEvery), atMostEvery))
	live := progress.NewLive(s.Progress, s.Length)
	defer live.Finish()
	l := load.Load{Start: time.Now(), At: s.plan.At, Operations: s.plan.operations}
	result := services.Show(ctx, l, live, l.Start, func() string { return "" })
	s.Parts, s.readings = []*load.Result{result}, sampler.Stop()
	if ctx.Err() == nil {
		s.before, s.atRest = s.rest(ctx)
	}
}

const (
	// restWithin is how long a service may take to end its helpers after the last request.
	restWithin = 30 * time.Second
	// lookEvery is how often its goroutines are counted.
	lookEvery = 100 * time.Millisecond
)

// rest waits until the service has ended the goroutines of the run, and returns their numbers before the run and now; 0 where
// they are not known: without metrics, and if ctx ends.
func (s *Soak) rest(ctx context.Context) (before, after float64) {
	_, counts := s.readings.Points(gauges.Goroutines)
	if len(counts) == 0 {
		return 0, 0
	}
	before = counts[0] // all connections are there by then
	ctx, cancel := context.WithTimeout(ctx, restWithin)
	defer cancel()
	sources := gauges.Sources{ServiceMetricsURLs: gauges.Of(s.to).ServiceMetricsURLs}
	for {
		if _, counts := gauges.Start(ctx, sources, restWithin).Stop().Points(gauges.Goroutines); len(counts) > 0 {
			after = counts[len(counts)-1]
		}
		if after > 0 && after <= mostGoroutines*before {
			return before, after
		}
		select {
		case <-ctx.Done():
			return before, after
		case <-time.After(lookEvery):
		}
	}
}
