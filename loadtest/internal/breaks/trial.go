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
	// lease is that of holders who die or stand still.
	lease = time.Second
	// leases is how many leases "for ever" lasts.
	leases = 5
	// long is a lease that does not run out, and longSession a session that does not.
	long, longSession = 30 * time.Second, 20 * time.Second
	// kept is how long a lock has to be kept from everybody else.
	kept = 2 * time.Second
)

// trial is one fault that happens to one lock.
type trial struct {
	servers servers.URLs
	worker  []string // command line of a process that does Hold
	stock   stock
	kind    kinds.Kind
	name    string // of the lock, and of the row that it guards
	result  Break
	holder  remote // in a process of its own
	rival   *party // who comes next
}

// run lets a fault happen, and returns what came of it.
func (t *trial) run(ctx context.Context, f fault) (result Break, err error) {
	t.result = Break{Fault: f.name, Lock: t.kind.Name, Ours: t.kind.Ours}
	if err := t.stock.put(ctx, t.name); err != nil {
		return Break{}, err
	}
	if t.rival, err = t.open(ctx); err != nil {
		return Break{}, err
	}
	defer func() { err = errors.Join(err, t.leave(ctx)) }()
	holds := f.holder
	holds.Servers, holds.Lock, holds.Name = t.servers, t.kind.Name, t.name
	if t.holder.Process, err = worker.Start(ctx, t.worker, holds, time.Minute); err != nil {
		return Break{}, err
	}
	defer func() { err = errors.Join(err, t.holder.Kill()) }()
	if err := f.happens(ctx, t); err != nil {
		return Break{}, fmt.Errorf("%s, %s: %w", f.name, t.kind.Name, err)
	}
	return t.result, nil
}

// open opens a client of the lock in this process, of who comes later, with leases that do not run out.
func (t *trial) open(ctx context.Context) (*party, error) {
	return join(ctx, t.kind, t.name, kinds.Setting{URLs: t.servers, Timing: kinds.Timing{Lease: long}, Session: longSession, Rival: true})
}

// leave removes what would stay.
func (t *trial) leave(ctx context.Context) (err error) {
	if t.rival.client.Forget != nil {
		err = t.rival.client.Forget(context.WithoutCancel(ctx), t.name)
	}
	return errors.Join(err, t.rival.close())
}

// wait lets the rival wait for the lock, and adds for how long. It returns nil if that is not free within the bound.
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
	case ctx.Err() == nil && !time.Now().Before(end): // a connection may hear of the end before the context does
		return nil, nil
	}
	return nil, fmt.Errorf("wait for the lock: %w", err)
}

// awaitFree judges a lock by whether it is ever free again.
func (t *trial) awaitFree(ctx context.Context) error {
	g, err := t.wait(ctx, leases*lease)
	if err != nil {
		return err
	}
	if g == nil {
		t.broken("still locked after %s", leases*lease)
		return nil
	}
	t.survived("free after %s ms", report.Number(t.result.Waited))
	return unlocked(ctx, g)
}

// awaitKept judges a lock that a holder has given back.
func (t *trial) awaitKept(ctx context.Context, well string) error {
	next, err := t.wait(ctx, leases*lease)
	if err != nil {
		return err
	}
	if next == nil {
		t.broken("still locked after the holder had unlocked")
		return nil
	}
	t.survived("%s", well)
	return unlocked(ctx, next)
}

// sell is what the rival does under the lock. It keeps it.
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

// judge judges a lock by what became of the write of somebody who was late.
func (t *trial) judge(ctx context.Context, accepted bool, told string) error {
	left, err := t.stock.read(ctx, t.name)
	if err != nil {
		return err
	}
	switch {
	case accepted:
		t.result.Stale++
		t.broken("both wrote: %d units sold, %d taken off", ofFirst+ofNext, units-left)
	case told == "":
		t.result.Refused++
		t.broken("the row refused the late write, but nobody told its holder")
	default:
		t.result.Refused++
		t.refused("the row refused the late write, and its holder was told: %s", told)
	}
	return nil
}

func (t *trial) broken(format string, args ...any) {
	t.result.Broken = true
	t.result.Outcome = "broken: " + fmt.Sprintf(format, args...)
}

func (t *trial) survived(format string, args ...any) {
	t.result.Outcome = "survived: " + fmt.Sprintf(format, args...)
}

func (t *trial) refused(format string, args ...any) {
	t.result.Outcome = "refused: " + fmt.Sprintf(format, args...)
}

// unlocked gives a lock back that nothing has happened to.
func unlocked(ctx context.Context, g *grip) error {
	if err := g.unlock(ctx); err != nil {
		return fmt.Errorf("give the lock back: %w", err)
	}
	return nil
}
