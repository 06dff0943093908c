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

// pair is a fault and a lock that it happens to.
type pair struct {
	fault fault
	kind  kinds.Kind
}

// pairs are all of them.
func pairs(chosen []fault, on servers.URLs) (out []pair) {
	for _, f := range chosen {
		for _, k := range kinds.All(on) {
			if f.happensTo(k) {
				out = append(out, pair{f, k})
			}
		}
	}
	return out
}

// tryAll lets the faults happen, several at a time, and returns what came of them in their order.
func tryAll(ctx context.Context, c experiment.Config, on servers.URLs, chosen []fault) (breaks []Break, err error) {
	db, err := kinds.OpenPostgres(ctx, kinds.Setting{URLs: on, Connections: enough})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if err := errors.Join(kinds.Prepare(ctx, on), stock{db}.create(ctx)); err != nil {
		return nil, err
	}
	all := pairs(chosen, on)
	results := make([]Break, len(all))
	trying, ctx := errgroup.WithContext(ctx)
	trying.SetLimit(atOnce)
	for i, p := range all {
		if ctx.Err() != nil {
			break
		}
		if i == 0 || all[i-1].fault.name != p.fault.name {
			c.Progress(p.fault.name)
		}
		trying.Go(func() (err error) {
			t := &trial{servers: on, worker: c.Worker, stock: stock{db}, kind: p.kind, name: servers.NewName("breaks-")}
			results[i], err = t.run(ctx, p.fault)
			return err
		})
	}
	err = trying.Wait()
	return slices.DeleteFunc(results, func(b Break) bool { return b.Fault == "" }), err
}
