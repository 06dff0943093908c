package explain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inventory/internal/app"
	"inventory/loadtest/internal/crowd"
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
	*crowd.Shop
	scale     Scale
	gcPercent uint64 // of the processes that sell
}

// Run measures. What it has until ctx ends, or something fails, it returns beside the error.
func Run(ctx context.Context, c Config) (result Result, err error) {
	on, err := crowd.OpenShop(ctx, c.URLs, c.Worker, "explain_", app.Config{Lock: app.LockNone})
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, on.Close(context.WithoutCancel(ctx))) }()
	s := &shop{Shop: on, scale: c.Scale}
	result = Result{Started: time.Now(), Seed: c.Seed, Warnings: on.Warnings}
	result.Measured = experiment.Run(ctx, s.question(), experiment.Rules{
		Seed: c.Seed, WarmUp: min(firstWindow, c.Scale.Window), Window: c.Scale.Window, For: c.Scale.For, Narrow: narrow, Progress: c.Progress,
	})
	result.Elapsed, result.Interrupted = time.Since(result.Started), ctx.Err() != nil
	if result.Interrupted {
		err = fmt.Errorf("the measurement was stopped: %w", context.Cause(ctx))
	}
	result.Environment = on.Environment
	result.Environment.Measurement = append(on.Environment.Measurement, s.conditions(len(result.Measured.Rounds), c.Seed))
	audit, wrong := on.Audit(ctx)
	result.SKUs, result.Wrong = len(audit.SKUs), wrong
	return result, err
}

// conditions are what all cells have in common.
func (s *shop) conditions(rounds int, seed uint64) string {
	return fmt.Sprintf("rounds: %d of %s a cell after %s of warm-up, in an order by seed %d; %d callers in all; GOGC %d in every process that sells",
		rounds, s.scale.Window, s.scale.WarmUp, seed, s.scale.Callers, s.gcPercent)
}

// Result is what a run measured.
type Result struct {
	Measured    experiment.Result
	Warnings    []string // why figures may not be what they seem
	SKUs        int      // that were audited
	Wrong       []string // what does not add up
	Seed        uint64
	Started     time.Time // zero: nothing could be measured
	Elapsed     time.Duration
	Interrupted bool
	Environment report.Environment
}

// Began tells whether anything could be measured.
func (r Result) Began() bool { return !r.Started.IsZero() }

// Err tells what must not be: rows that do not add up, and a cell that failed.
func (r Result) Err() error {
	errs := []error{r.Measured.Err()}
	for _, wrong := range r.Wrong {
		errs = append(errs, fmt.Errorf("audit: %s", wrong))
	}
	return errors.Join(errs...)
}
