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
	// A long lease and a long session do not run out.
	long, longSession = 30 * time.Second, 20 * time.Second
	// kept is how long a lock has to be kept from all others.
	kept = 2 * time.Second
)

// trial is one fault of one lock.
type trial struct {
	servers servers.URLs
	worker  []string // command line of a process that does Hold
	stock   stock
	fault   fault
	kind    kinds.Kind
	name    string // of the lock, and of the row that it guards
	result  Break
	over    bool   // all steps were done
	holder  remote // in a process of its own
	rival   *party // that comes next
}

// run causes the fault, and judges what came of it.
func (t *trial) run(ctx context.Context) (err error) {
	t.result = Break{Fault: t.fault.name, Lock: t.kind.Name, Ours: t.kind.Ours}
	if err := t.stock.put(ctx, t.name); err != nil {
		return err
	}
	if t.rival, err = t.open(ctx); err != nil {
		return err
	}
	defer func() {
		if forget := t.rival.client.Forget; forget != nil {
			err = errors.Join(err, forget(context.WithoutCancel(ctx), t.name))
		}
		err = errors.Join(err, t.rival.close())
	}()
	holds := t.fault.holder
	holds.Servers, holds.Lock, holds.Name = t.servers, t.kind.Name, t.name
	if t.holder.Process, err = worker.Start(ctx, t.worker, holds, time.Minute); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.holder.Kill()) }()
	if err := t.fault.happens(ctx, t); err != nil {
		return fmt.Errorf("%s, %s: %w", t.fault.name, t.kind.Name, err)
	}
	t.over = true
	return nil
}

// open opens a client of the lock in this process, for a caller that comes later. Its leases do not run out.
func (t *trial) open(ctx context.Context) (*party, error) {
	return join(ctx, t.kind, t.name, kinds.Setting{URLs: t.servers, Timing: kinds.Timing{Lease: long}, Session: longSession, Rival: true})
}

// wait has the rival wait for the lock, and adds the time to the result. It returns nil if the lock is not free within the bound.
func (t *trial) wait(ctx context.Context, bound time.Duration) (*grip, error) {
	start := time.Now()
	end := start.Add(bound)
	within, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	g, err := t.rival.lock(within)
	t.result.Waited += compare.Milliseconds(time.Since(start))
	switch {
	case err == nil:
		return g, nil
	case ctx.Err() == nil && !time.Now().Before(end): // a connection may end before the context does
		return nil, nil
	}
	return nil, fmt.Errorf("wait for the lock: %w", err)
}

// await judges a lock by whether it is free again after something. well is the outcome if so; "": how soon it was free.
func (t *trial) await(ctx context.Context, after, well string) error {
	g, err := t.wait(ctx, forever)
	switch {
	case err != nil:
		return err
	case g == nil:
		t.became(broken, "still locked after %s", after)
		return nil
	case well == "":
		well = "free after " + report.Number(t.result.Waited) + " ms"
	}
	t.became(survived, "%s", well)
	return g.unlock(ctx)
}

// sell sells under the rival's lock, which it keeps.
func (t *trial) sell(ctx context.Context, g *grip) error {
	available, err := t.stock.read(ctx, t.name)
	if err != nil {
		return err
	}
	accepted, err := t.stock.write(ctx, t.name, available-ofNext, g)
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
	switch {
	case accepted:
		t.result.Stale++
		t.became(broken, "both wrote: %d units sold, %d taken off", ofFirst+ofNext, units-left)
	case told == "":
		t.result.Refused++
		t.became(broken, "the row refused the late write, but nobody told its holder")
	default:
		t.result.Refused++
		t.became(refused, "the row refused the late write, and its holder was told: %s", told)
	}
	return nil
}

// The outcomes for a lock.
const broken, survived, refused = "broken", "survived", "refused"

func (t *trial) became(what, format string, args ...any) {
	t.result.Broken = what == broken
	t.result.Outcome = what + ": " + fmt.Sprintf(format, args...)
}
