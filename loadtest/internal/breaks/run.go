// Package breaks causes faults for locks, and judges what becomes of each lock. docs/lab/breaking-locks.md lists the faults.
//
// A fault is a fixed sequence of steps. A holder is a process of its own, which does one step at a time, and gets SIGKILL or
// SIGSTOP in between. A hook in its client stops a step half-way, and its connections go through a cable that can be cut. Each
// step waits for the answer to the one before. Only "free again" is waited for, up to a bound of several leases.
//
// A lock guards a row of stock. A holder reads how many units are left, and writes how many will be left: a write of what was
// read before the write of the next holder sells the same units twice. A lock with a fencing token shows it to the row, which
// refuses an older token than the last; the writes of any other lock are taken as they come.
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

// atOnce is how many trials run at once. Most of them wait for a lease to run out.
const atOnce = 16

// Run causes each fault for each lock: the faults are the cases, and the worker does Hold. What was done until an error, or
// until ctx ended, is in the result.
func Run(ctx context.Context, c experiment.Config) (result Result, err error) {
	if err := Check(c.Cases); err != nil {
		return Result{}, err
	}
	chosen := slices.DeleteFunc(faults(), func(f fault) bool { return len(c.Cases) > 0 && !slices.Contains(c.Cases, f.name) })
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

// Check reports whether there are faults of these names.
func Check(names []string) error {
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("there is no fault %q; there are %q", name, Names())
		}
	}
	return nil
}

// tryAll tries the faults, several at a time, and returns what came of them in their order.
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
