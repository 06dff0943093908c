package lockbench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"inventory/internal/latency"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/worker"
)

// compete runs each job in a process of its own, all at once, and returns what they did, in that order.
func (b *bench) compete(ctx context.Context, jobs []job) (accounts []account, err error) {
	all, err := worker.StartAll(ctx, b.worker, 3*slack+jobs[0].Window, jobs) // one that hangs is killed
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, all.End()) }()
	if err := all.Go(); err != nil {
		return nil, err
	}
	return worker.Results(all, func() account { return account{Waits: latency.New()} })
}

// together returns the figures of some processes as one; fairness is that between processes.
func together(accounts []account, window time.Duration) (experiment.Sample, error) {
	t := &tally{waits: latency.New(), elapsed: window}
	var commands int64
	for _, r := range accounts {
		t.counts = append(t.counts, r.sum())
		t.all += r.All
		t.violations += r.Violations
		t.waits.Add(r.Waits)
		commands += r.Commands
		t.err = errors.Join(t.err, r.err())
	}
	return t.figures(commands), t.err
}

// err is what went wrong.
func (r account) err() error {
	if r.Note == "" {
		return nil
	}
	return errors.New(r.Note)
}

// sum is how many acquisitions fell into the window.
func (r account) sum() (all int64) {
	for _, n := range r.Counts {
		all += n
	}
	return all
}

// contest makes entrants that compete in processes: what jobs of a kind do, and what their accounts come to.
func (b *bench) contest(name string, kinds []kind, jobs []job, figures func(accounts []account) (experiment.Sample, error),
) (entrants []entrant) {
	for _, k := range kinds {
		entrants = append(entrants, entrant{k.name, k.ours, func(ctx context.Context, round int) (experiment.Sample, error) {
			mine := slices.Clone(jobs)
			for i := range mine {
				mine[i].Servers, mine[i].Kind = b.servers, k.name
				mine[i].Lock = fmt.Sprintf("%s%s-%d", b.run, name, round)
			}
			accounts, err := b.compete(ctx, mine)
			if err != nil {
				return nil, err
			}
			return figures(accounts)
		}})
	}
	return entrants
}
