package breaks

import (
	"context"
	"errors"
)

// sharesConnection is two callers of one process, whose pool has one connection.
func sharesConnection(ctx context.Context, t *trial) (err error) {
	both, err := t.open(ctx, setting{connections: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, both.close()) }()
	g, err := both.lock(ctx, t.name)
	if err != nil {
		return err
	}
	second, err := both.try(ctx, t.name)
	if err != nil {
		return err
	}
	if second == nil {
		t.survived("the second caller was kept out")
		return unlocked(ctx, g)
	}
	t.broken("the second caller got the lock as well: two inside at once")
	return errors.Join(unlocked(ctx, second), unlocked(ctx, g))
}

// unlocksElsewhere is a pool of two connections, which are lent in turn.
func unlocksElsewhere(ctx context.Context, t *trial) (err error) {
	first, err := t.open(ctx, setting{connections: 2})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, first.close()) }()
	g, err := first.lock(ctx, t.name)
	if err != nil {
		return err
	}
	told := g.unlock(ctx)
	if err := t.awaitFree(ctx); err != nil {
		return err
	}
	if t.result.Broken && told != nil {
		t.broken("still locked after %s; the unlock said: %s", leases*lease, told)
	}
	return nil
}
