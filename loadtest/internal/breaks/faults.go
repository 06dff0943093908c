package breaks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/worker"
)

const (
	// lease is that of holders that die or stand still.
	lease = time.Second
	// A lock that is not free after forever counts as never free again.
	leases  = 5
	forever = leases * lease
	// A long lease does not run out.
	long = 30 * time.Second
	// kept is how long a lock has to be kept from all others.
	kept = 2 * time.Second
)

// The faults.
const (
	dies         = "dies while it holds"
	standsStill  = "stands still, then writes"
	losesUnlock  = "loses its unlock"
	losesNetwork = "loses its network"
)

// fault is a sequence of steps.
type fault struct {
	name  string
	steps string // what happens, in a sentence
	lease time.Duration
	// happens does the steps, and judges.
	happens func(t *trial, ctx context.Context) error
}

// faults are all, in the order of the report.
func faults() []fault {
	return []fault{
		{
			dies, "The process has the lock and gets SIGKILL. Somebody else waits.", lease, func(t *trial, ctx context.Context) error {
				_, err := t.holder.do(toLock)
				if err := errors.Join(err, t.holder.Kill()); err != nil {
					return err
				}
				return t.await(ctx)
			},
		},
		{
			standsStill, "The process has the lock, has read its row, and gets SIGSTOP. Somebody else gets the lock if it can, and sells " +
				"3 of 10 units. The process goes on by SIGCONT, and writes what it meant to write: one unit less than it has read.",
			lease, func(t *trial, ctx context.Context) error {
				return t.overtaken(ctx, t.holder.Stop, t.holder.Continue, forever, "kept until the holder went on")
			},
		},
		{
			losesUnlock, "The holder's network is gone while it unlocks, and back afterwards; nobody calls unlock again. Somebody else " +
				"waits. The holder's process lives on.", lease, (*trial).losesUnlock,
		},
		{
			losesNetwork, "The holder has read its row when all its connections are cut; new ones work. Somebody else gets the lock if it " +
				"can, and sells 3 of 10 units. The holder writes what it meant to write, and unlocks.",
			long, func(t *trial, ctx context.Context) error {
				cut := func() error {
					_, err := t.holder.do(toCut)
					return err
				}
				return t.overtaken(ctx, cut, func() error { return nil }, kept, "kept for "+kept.String()+", and given back")
			},
		},
	}
}

// trial is one fault of one lock, and what came of it.
type trial struct {
	servers servers.URLs
	stock   stock
	fault   fault
	kind    kinds.Kind
	name    string        // of the lock, and of the row that it guards
	holder  remote        // in a process of its own
	rival   *kinds.Client // of a caller in this process, who comes next

	outcome  string  // "": it was stopped before
	broken   bool    // the lock was
	late     bool    // there was a late write
	accepted bool    // which the row accepted
	waited   float64 // milliseconds until the next caller had the lock, or gave up
}

// run causes the fault, and judges what came of it.
func (t *trial) run(ctx context.Context) (err error) {
	if err := t.stock.put(ctx, t.name); err != nil {
		return err
	}
	s := kinds.Setting{URLs: t.servers, Lease: long, Poll: poll, Connections: enough, Rival: true}
	if t.rival, err = t.kind.Open(ctx, s); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.rival.Close()) }()
	holds := job{t.servers, t.kind.Name, t.name, t.fault.lease}
	if t.holder.Process, err = worker.Start(ctx, worker.Job{Kind: Worker, Job: holds, Limit: time.Minute}, nil); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.holder.Kill()) }()
	if err := t.fault.happens(t, ctx); err != nil {
		return fmt.Errorf("%s, %s: %w", t.fault.name, t.kind.Name, err)
	}
	return nil
}

// losesUnlock is a network that is gone while the holder unlocks.
func (t *trial) losesUnlock(ctx context.Context) error {
	if _, err := t.holder.do(toLock, toPull); err != nil {
		return err
	}
	if _, err := t.holder.do(toUnlock); err == nil {
		return errors.New("the holder could unlock without a network")
	}
	if _, err := t.holder.do(toPlug); err != nil {
		return err
	}
	return t.await(ctx)
}

// overtaken causes something for a holder that has read its row, and has the rival wait for the lock up to a bound. If the
// rival gets it, it sells before the holder goes on and writes. Else the holder writes and unlocks, and the outcome is well.
func (t *trial) overtaken(ctx context.Context, happens, goOn func() error, bound time.Duration, well string) error {
	if _, err := t.holder.do(toLock, toRead); err != nil {
		return err
	}
	if err := happens(); err != nil {
		return err
	}
	next, err := t.wait(ctx, bound)
	if err == nil && next != nil {
		err = t.sell(ctx, next)
	}
	if err := errors.Join(err, goOn()); err != nil {
		return err
	}
	wrote, err := t.holder.do(toWrite)
	switch {
	case err != nil:
		return err
	case next != nil:
		heard, err := t.holder.do(toListen)
		if err != nil {
			return err
		}
		return errors.Join(t.judge(ctx, wrote.Done, heard.Told), next.Unlock(ctx))
	case !wrote.Done:
		t.broken, t.outcome = true, "the row refused who has the lock"
		return nil
	}
	if _, err := t.holder.do(toUnlock); err != nil {
		return err
	}
	err = t.await(ctx)
	if err == nil && !t.broken {
		t.outcome = well
	}
	return err
}

// wait has the rival wait for the lock, and adds the time to the result. It returns nil if the lock is not free within the bound.
func (t *trial) wait(ctx context.Context, bound time.Duration) (kinds.Hold, error) {
	start := time.Now()
	end := start.Add(bound)
	within, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	hold, err := t.rival.Lock(t.name)(within)
	t.waited += compare.Milliseconds(time.Since(start))
	switch {
	case err == nil:
		return hold, nil
	case ctx.Err() == nil && !time.Now().Before(end): // a connection may end before the context does
		return nil, nil
	}
	return nil, fmt.Errorf("wait for the lock: %w", err)
}

// await judges a lock by whether it is free again.
func (t *trial) await(ctx context.Context) error {
	hold, err := t.wait(ctx, forever)
	if err != nil {
		return err
	}
	if hold == nil {
		t.broken, t.outcome = true, "still locked after "+forever.String()
		return nil
	}
	t.outcome = "free after " + report.Number(t.waited) + " ms"
	return hold.Unlock(ctx)
}

// sell sells under the rival's lock, which it keeps.
func (t *trial) sell(ctx context.Context, hold kinds.Hold) error {
	available, err := t.stock.read(ctx, t.name)
	if err != nil {
		return err
	}
	accepted, err := t.stock.write(ctx, t.name, available-ofNext, hold)
	if err == nil && !accepted {
		err = errors.New("the row refused who has the lock")
	}
	return err
}

// judge judges a lock by what became of a late write.
func (t *trial) judge(ctx context.Context, accepted bool, told string) error {
	left, err := t.stock.read(ctx, t.name)
	if err != nil {
		return err
	}
	t.late, t.accepted, t.broken = true, accepted, accepted || told == ""
	switch {
	case accepted:
		t.outcome = fmt.Sprintf("both wrote: %d units sold, %d taken off", ofFirst+ofNext, units-left)
	case told == "":
		t.outcome = "late write refused, holder not told"
	default:
		t.outcome = "late write refused, holder told"
	}
	return nil
}
