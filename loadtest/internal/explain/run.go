package explain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inventory/internal/app"
	"inventory/internal/stock/selling"
	"inventory/loadtest/internal/books"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

// Config says where to measure, and how long.
type Config struct {
	servers.URLs
	Scale Scale
	Seed  uint64 // of the order of cells in each round
	// Worker is the command line of a process that does crowd.Work.
	Worker []string
	// Progress is told how many rounds have been played.
	Progress func(rounds int)
}

// Scale is how much time a run takes.
type Scale struct {
	Callers        int // in all
	WarmUp, Window time.Duration
	For            time.Duration // of all rounds
}

// Full is the scale of figures to be told.
func Full() Scale {
	return Scale{Callers: 512, WarmUp: 300 * time.Millisecond, Window: 600 * time.Millisecond, For: 3 * time.Minute}
}

// Tiny is that of a test, which only wants to know that all of it works.
func Tiny() Scale {
	return Scale{Callers: 9, WarmUp: 10 * time.Millisecond, Window: 30 * time.Millisecond}
}

const (
	firstWindow = 100 * time.Millisecond // of each cell, which warms the servers up
	narrow      = 1.05                   // intervals need not be narrower
)

// shop is what all cells stand on.
type shop struct {
	Config
	service   *selling.Service // makes SKUs
	told      books.Ledger
	gcPercent uint64 // of the processes that sell
}

// Run measures. What it has until ctx ends, or something fails, it returns beside the error.
func Run(ctx context.Context, c Config) (result Result, err error) {
	load, err := servers.LookAround(ctx)
	if err != nil {
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
	if err := on.MakeDatabase(ctx, "explain_"); err != nil {
		return Result{}, err
	}
	environment.Target, environment.Generator = on.Name, "callers inside the processes that sell"
	c.URLs = on.URLs
	s := &shop{Config: c, told: books.Ledger{}}
	result = Result{Started: time.Now(), Seed: c.Seed, Load: load}
	if err := s.measure(ctx, &result); err != nil {
		return Result{}, err
	}
	result.Elapsed, result.Interrupted = time.Since(result.Started), ctx.Err() != nil
	if result.Interrupted {
		err = fmt.Errorf("the measurement was stopped: %w", context.Cause(ctx))
	}
	environment.Measurement = append(environment.Measurement, load.String(), s.conditions(len(result.Measured.Rounds)))
	result.Environment = environment
	s.audit(ctx, &result)
	return result, err
}

// measure plays all cells, beside a service of this process that makes SKUs.
func (s *shop) measure(ctx context.Context, result *Result) (err error) {
	service, err := app.Start(ctx, app.Config{DatabaseURL: s.DatabaseURL, Lock: app.LockNone})
	if err != nil {
		return fmt.Errorf("start the service: %w", err)
	}
	defer func() { err = errors.Join(err, service.Close(context.WithoutCancel(ctx))) }()
	s.service = service.Service()
	result.Measured = experiment.Run(ctx, s.question(), experiment.Rules{
		Seed: s.Seed, WarmUp: min(firstWindow, s.Scale.Window), Window: s.Scale.Window, For: s.Scale.For, Narrow: narrow, Progress: s.Progress,
	})
	return nil
}

// conditions are what all cells have in common.
func (s *shop) conditions(rounds int) string {
	return fmt.Sprintf("rounds: %d of %s a cell after %s of warm-up, in an order by seed %d; %d callers in all; GOGC %d in every process that sells",
		rounds, s.Scale.Window, s.Scale.WarmUp, s.Seed, s.Scale.Callers, s.gcPercent)
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
}

// Result is what a run measured.
type Result struct {
	Measured    experiment.Result
	Load        servers.Load // before the start
	SKUs        int          // that were audited
	Wrong       []string     // what does not add up
	Seed        uint64
	Started     time.Time // zero: nothing could be measured
	Elapsed     time.Duration
	Interrupted bool
	Environment report.Environment
}

// Err tells what must not be: rows that do not add up, and a cell that failed.
func (r Result) Err() error {
	errs := []error{r.Measured.Err()}
	for _, wrong := range r.Wrong {
		errs = append(errs, fmt.Errorf("audit: %s", wrong))
	}
	return errors.Join(errs...)
}
