package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/sync/errgroup"

	"inventory/internal/api/client"
	"inventory/internal/progress"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/gauges"
	"inventory/loadtest/internal/openloop"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/target"
)

// Config says what is done, and how it is sent.
type Config struct {
	Work
	Connections int
	Key         string    // API key of the scope admin; "": none is shown
	Progress    io.Writer // where a person watches
}

const (
	// patience is how long a request of preparation is sent again.
	patience = 10 * time.Second
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
	to        *target.Target
	fleet     *client.Fleet
	plan      *Plan
	sum       string // of the stream
	started   time.Time
	result    openloop.Result
	readings  gauges.Readings
	account   account
	unaudited error // why the rows could not be read
}

// Run does the work at a target, audits, and reports. What ends it early, a ctx that is over among it, is an error beside the
// report of what was measured until then; where there is nothing to report the document is the zero one.
func Run(ctx context.Context, c Config, to *target.Target) (report.Document, error) {
	s := &soak{Config: c, to: to, started: time.Now(), plan: NewPlan(c.Work)}
	s.sum = openloop.Sum(s.plan.At, s.plan)
	stopped := s.soak(ctx)
	if ctx.Err() != nil {
		stopped = fmt.Errorf("the soak was stopped: %w", context.Cause(ctx))
	} else if stopped != nil {
		return report.Document{}, stopped
	}
	ctx = context.WithoutCancel(ctx) // what was sold is audited whatever the reason to stop
	if len(s.result.Replies) > 0 {
		s.account, s.unaudited = s.audit(ctx)
	}
	d, err := s.document(ctx, stopped != nil)
	return d, errors.Join(stopped, s.wrong(), err)
}

// soak puts the SKUs up for sale and sends the requests.
func (s *soak) soak(ctx context.Context) (err error) {
	if s.fleet, err = client.NewFleet(s.to.URLs, creators, patience, client.WithKey(s.Key)); err != nil {
		return err
	}
	defer s.fleet.Close()
	if err := s.unused(ctx); err != nil {
		return err
	}
	if err := s.create(ctx); err != nil {
		return err
	}
	sender, err := openloop.Open(ctx, openloop.Config{URLs: s.to.URLs, Key: s.Key, Connections: s.Connections})
	if err != nil {
		return err
	}
	defer sender.Close()
	s.send(ctx, sender)
	return ctx.Err()
}

// unused makes sure that the seed was not used on this database before.
func (s *soak) unused(ctx context.Context) error {
	sku := s.plan.SKU(0)
	answer, err := s.fleet.ReadSKU(ctx, sku)
	switch {
	case err != nil:
		return fmt.Errorf("read SKU %s: %w", sku, target.WithoutURL(err))
	case answer.OK():
		return fmt.Errorf("this database was soaked with seed %d before: SKU %s is there; choose another --seed", s.Seed, sku)
	case answer.Problem != nil && answer.Problem.Code == client.UnknownSku:
		return nil
	}
	return fmt.Errorf("read SKU %s: %w", sku, answer.Err())
}

// create puts the SKUs up for sale.
func (s *soak) create(ctx context.Context) error {
	creating, ctx := errgroup.WithContext(ctx)
	creating.SetLimit(creators)
	for n := range s.SKUs {
		creating.Go(func() error {
			sku := s.plan.SKU(uint32(n))
			answer, err := s.fleet.CreateSKU(ctx, sku, client.NewSKU{Stock: s.Stock, Segments: &s.Segments})
			if err == nil {
				err = answer.Err()
			}
			if err != nil {
				return fmt.Errorf("put SKU %s up for sale: %w", sku, target.WithoutURL(err))
			}
			return nil
		})
	}
	return creating.Wait()
}

// send sends the requests, and watches the machine and what is heard meanwhile.
func (s *soak) send(ctx context.Context, sender *openloop.Sender) {
	sources := gauges.Of(s.to)
	if s.Length >= waitsFor {
		sources.Settle = gauges.PostgresSettles
	}
	sampler := gauges.Start(ctx, sources, min(max(s.Length/readings, atLeastEvery), atMostEvery))
	heard := openloop.NewLive(s.plan.At)
	watching, stop := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	start := time.Now()
	watcher.Go(func() { s.tell(watching, start, heard) })
	s.result = sender.Run(ctx, openloop.Load{Start: start, At: s.plan.At, Stream: s.plan, Heard: heard.Heard})
	stop()
	watcher.Wait()
	s.readings = sampler.Stop()
}

// tell shows how the run gets on, each second.
func (s *soak) tell(ctx context.Context, start time.Time, heard *openloop.Live) {
	live := progress.NewLive(s.Progress, s.Length)
	defer live.Finish()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		counts, p99 := heard.Take()
		live.Tell(time.Since(start), fmt.Sprintf("%s/s, accepted %s/s, p99 %.3g ms", humanize.Comma(counts.Answered()),
			humanize.Comma(counts[openloop.Accepted]), compare.Milliseconds(p99)))
	}
}
