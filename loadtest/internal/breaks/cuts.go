package breaks

import (
	"context"
	"errors"

	"inventory/loadtest/internal/kinds"
)

// unlockIsLost is a network that is gone while the holder unlocks.
func unlockIsLost(ctx context.Context, t *trial) error {
	c := &cable{}
	return t.holds(ctx, func(s *kinds.Setting) { s.Lease, s.Dial = lease, c.dial }, func(_ *party, g *grip) error {
		c.pull()
		lost := g.unlock(ctx)
		c.plug()
		if lost == nil {
			return errors.New("the holder could unlock without a network")
		}
		return t.awaitFree(ctx)
	})
}

// connectionIsCut is the end of the connections that the holder locked over.
func connectionIsCut(ctx context.Context, t *trial) error {
	c := &cable{}
	return t.holds(ctx, func(s *kinds.Setting) { s.Dial = c.dial }, func(_ *party, g *grip) error {
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
		switch {
		case next != nil:
			return errors.Join(t.judge(ctx, accepted, g.told()), unlocked(ctx, next))
		case !accepted:
			t.broken("the row refused who has the lock")
			return nil
		}
		if err := unlocked(ctx, g); err != nil {
			return err
		}
		return t.awaitKept(ctx, "the lock was kept for "+kept.String()+", and given back")
	})
}

// sharesConnection is two callers of one process, whose pool has one connection.
func sharesConnection(ctx context.Context, t *trial) error {
	return t.holds(ctx, func(s *kinds.Setting) { s.Connections = 1 }, func(both *party, g *grip) error {
		second, err := both.try(ctx)
		if err != nil {
			return err
		}
		if second == nil {
			t.survived("the second caller was kept out")
			return unlocked(ctx, g)
		}
		t.broken("the second caller got the lock as well: two inside at once")
		return errors.Join(unlocked(ctx, second), unlocked(ctx, g))
	})
}

// unlocksElsewhere is a pool of two connections, which are lent in turn.
func unlocksElsewhere(ctx context.Context, t *trial) error {
	return t.holds(ctx, func(s *kinds.Setting) { s.Connections = 2 }, func(_ *party, g *grip) error {
		told := g.unlock(ctx)
		if err := t.awaitFree(ctx); err != nil {
			return err
		}
		if t.result.Broken && told != nil {
			t.broken("still locked after %s; the unlock said: %s", leases*lease, told)
		}
		return nil
	})
}

// holds has a holder in this process, whose client is set up in some way, for something to happen to it.
func (t *trial) holds(ctx context.Context, set func(*kinds.Setting), then func(first *party, g *grip) error) (err error) {
	first, err := t.open(ctx, set)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, first.close()) }()
	g, err := first.lock(ctx)
	if err != nil {
		return err
	}
	return then(first, g)
}
