package breaks

import (
	"context"
	"errors"
)

// unlockIsLost is a network that is gone while the holder unlocks.
func unlockIsLost(ctx context.Context, t *trial) (err error) {
	c := &cable{}
	first, err := t.open(ctx, setting{lease: lease, cable: c})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, first.close()) }()
	g, err := first.lock(ctx, t.name)
	if err != nil {
		return err
	}
	c.pull()
	lost := g.unlock(ctx)
	c.plug()
	if lost == nil {
		return errors.New("the holder could unlock without a network")
	}
	return t.awaitFree(ctx)
}

// connectionIsCut is the end of the connections that the holder locked over.
func connectionIsCut(ctx context.Context, t *trial) (err error) {
	c := &cable{}
	first, err := t.open(ctx, setting{cable: c})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, first.close()) }()
	g, err := first.lock(ctx, t.name)
	if err != nil {
		return err
	}
	available, err := t.stock.read(ctx, t.name)
	if err != nil {
		return err
	}
	c.cut()
	next, err := t.wait(ctx, kept)
	if err != nil {
		return err
	}
	if next != nil {
		if err := t.sell(ctx, next); err != nil {
			return err
		}
	}
	accepted, err := t.stock.write(ctx, t.name, available-ofFirst, g)
	if err != nil {
		return err
	}
	if next != nil {
		return errors.Join(t.judge(ctx, accepted, g.told()), unlocked(ctx, next))
	}
	if !accepted {
		t.broken("the row refused who has the lock")
		return nil
	}
	return t.givesBack(ctx, g)
}

// givesBack is what a holder does that has kept its lock.
func (t *trial) givesBack(ctx context.Context, g *grip) error {
	if err := unlocked(ctx, g); err != nil {
		return err
	}
	next, err := t.wait(ctx, leases*lease)
	if err != nil {
		return err
	}
	if next == nil {
		t.broken("still locked after the holder had unlocked")
		return nil
	}
	t.survived("the lock was kept for %s, and given back", kept)
	return unlocked(ctx, next)
}
