package segments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"inventory/internal/app"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
	"inventory/loadtest/internal/books"
	"inventory/loadtest/internal/servers"
)

// Config says what to measure, where, and how long.
type Config struct {
	servers.URLs
	Lock  string // the kind of lock of the segments; "" is the service's default
	Scale Scale
	Cases []string // names; none: all
	// Worker is the command line of a process that does crowd.Work.
	Worker []string
	// Progress is told of each case as it begins.
	Progress func(name string)
}

// The cases.
const (
	matrixCase   = "segments"
	stoppedCase  = "process stopped"
	overloadCase = "overload"
)

// Names are those of all cases.
func Names() []string { return []string{matrixCase, stoppedCase, overloadCase} }

// shop is what all cases stand on.
type shop struct {
	Config
	service *selling.Service // makes SKUs, and sells in the overload
	told    books.Ledger
}

// Check tells whether there are cases of these names.
func Check(names []string) error {
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("there is no case %q; there are %q", name, Names())
		}
	}
	return nil
}

// Run measures. What it has until ctx ends, or something fails, it returns beside the error.
func Run(ctx context.Context, c Config) (result Result, err error) {
	if err := Check(c.Cases); err != nil {
		return Result{}, err
	}
	on, err := servers.Open(ctx, c.URLs)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, on.Stop()) }()
	environment, err := on.Durable(ctx)
	if err != nil {
		return Result{}, err
	}
	if err := on.MakeDatabase(ctx, "segments_"); err != nil {
		return Result{}, err
	}
	settings := c.settings()
	environment.Target, environment.Generator = on.Name, "callers inside the processes that sell"
	environment.Measurement = append(environment.Measurement, settings.String())
	result = Result{Settings: settings, Started: time.Now(), Environment: environment}
	c.URLs = on.URLs
	s := &shop{Config: c, told: books.Ledger{}}
	err = s.measure(ctx, &result)
	result.Elapsed, result.Interrupted = time.Since(result.Started), ctx.Err() != nil
	if result.Interrupted { // which says why, where err is what came of it
		err = fmt.Errorf("the comparison was stopped: %w", context.Cause(ctx))
	}
	s.audit(ctx, &result)
	return result, err
}

// measure does the cases that are wanted, beside a service of this process.
func (s *shop) measure(ctx context.Context, result *Result) (err error) {
	service, err := app.Start(ctx, app.Config{DatabaseURL: s.DatabaseURL, RedisURL: s.RedisURL, Lock: s.Lock})
	if err != nil {
		return fmt.Errorf("start the service: %w", err)
	}
	defer func() { err = errors.Join(err, service.Close(context.WithoutCancel(ctx))) }()
	s.service = service.Service()
	for _, c := range []struct {
		name string
		do   func() error
	}{
		{matrixCase, func() (err error) { result.Segments, err = s.matrix(ctx); return err }},
		{stoppedCase, func() (err error) { result.Stopped, err = s.stopped(ctx); return err }},
		{overloadCase, func() (err error) { result.Overload, err = s.overload(ctx); return err }},
	} {
		if len(s.Cases) > 0 && !slices.Contains(s.Cases, c.name) {
			continue
		}
		s.Progress(c.name)
		if err := c.do(); err != nil {
			result.Unfinished = c.name
			return fmt.Errorf("case %q: %w", c.name, err)
		}
	}
	return nil
}

// create puts a fresh SKU up for sale that will not be sold out.
func (s *shop) create(ctx context.Context, segments int) (sku string, err error) {
	sku = servers.NewName("hot-")
	s.told.Add(sku, 0, 0)
	if _, _, err := s.service.CreateSKU(ctx, stock.NewSKU{SKU: sku, Stock: stock.MaxStock, Segments: segments}); err != nil {
		return "", fmt.Errorf("put a SKU up for sale: %w", err)
	}
	return sku, nil
}

// audit holds the rows against one another, and against what callers were told, also when ctx has ended.
func (s *shop) audit(ctx context.Context, result *Result) {
	ctx, cancel := books.Patience(ctx)
	defer cancel()
	audit, err := books.Audit(ctx, s.DatabaseURL)
	if err != nil {
		result.Wrong = []string{fmt.Sprintf("no audit could be made: %v", err)}
		return
	}
	result.SKUs, result.Wrong = len(audit.SKUs), s.told.Against(audit)
	merges := map[string]int64{}
	for _, b := range audit.SKUs {
		merges[b.SKU] = b.Merges
	}
	for i := range result.Segments {
		for _, sku := range result.Segments[i].skus {
			result.Segments[i].Merges += merges[sku]
		}
	}
}
