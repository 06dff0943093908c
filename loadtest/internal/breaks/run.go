package breaks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/servers"
)

// atOnce is how many trials there are at the same time. Most of them wait for a lease to run out.
const atOnce = 16

// Run lets each fault happen to each lock: the faults are the cases, and the worker does Hold. What has been done until an
// error, or until ctx ends, is in the result.
func Run(ctx context.Context, c experiment.Config) (result Result, err error) {
	if err := Check(c.Cases); err != nil {
		return Result{}, err
	}
	chosen := choose(c.Cases)
	on, err := servers.Prepare(ctx, c.URLs, servers.Needs{Locks: true, Database: "breaks_"})
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, on.Close()) }()
	result = Result{Started: time.Now(), Environment: on.About, LeftOut: on.LeftOut, faults: chosen}
	result.Breaks, err = tryAll(ctx, c, on.URLs, chosen)
	result.Elapsed = time.Since(result.Started)
	if result.Interrupted = ctx.Err() != nil; result.Interrupted {
		err = fmt.Errorf("the faults were stopped: %w", context.Cause(ctx)) // whatever came of that
	}
	return result, err
}

// Check tells whether there are faults of these names.
func Check(names []string) error {
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("there is no fault %q; there are %q", name, Names())
		}
	}
	return nil
}

// choose returns the faults of these names, none: all.
func choose(names []string) []fault {
	return slices.DeleteFunc(faults(), func(f fault) bool { return len(names) > 0 && !slices.Contains(names, f.name) })
}

// tryAll lets the faults happen, several at a time, and returns what came of them in their order.
func tryAll(ctx context.Context, c experiment.Config, on servers.URLs, chosen []fault) (breaks []Break, err error) {
	db, err := kinds.OpenPostgres(ctx, kinds.Setting{URLs: on, Connections: enough})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if err := errors.Join(kinds.Prepare(ctx, on), servers.Execute(ctx, on.DatabaseURL, createStock)); err != nil {
		return nil, err
	}
	var trials []*trial
	trying, ctx := errgroup.WithContext(ctx)
	trying.SetLimit(atOnce)
	for _, f := range chosen {
		if ctx.Err() == nil {
			c.Progress(f.name)
		}
		for _, k := range kinds.All(on) {
			if ctx.Err() != nil || !f.happensTo(k) {
				continue
			}
			t := &trial{servers: on, worker: c.Worker, stock: stock{db}, fault: f, kind: k, name: servers.NewName("breaks-")}
			trials = append(trials, t)
			trying.Go(func() error { return t.run(ctx) })
		}
	}
	err = trying.Wait()
	for _, t := range trials {
		if t.over {
			breaks = append(breaks, t.result)
		}
	}
	return breaks, err
}
