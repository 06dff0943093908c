package breaks

import (
	"context"
	"errors"
)

func diesWhileItLocks(ctx context.Context, t *trial) error {
	return t.dies(ctx, true, func(r remote) error {
		a, err := r.do(toLock)
		if err == nil && !a.Trapped {
			err = errors.New("the holder was not trapped in its lock")
		}
		return err
	})
}

func diesWhileItHolds(ctx context.Context, t *trial) error {
	return t.dies(ctx, false, func(r remote) error {
		_, err := r.must(toLock)
		return err
	})
}

// dies kills a process that has done something, by SIGKILL.
func (t *trial) dies(ctx context.Context, trapped bool, do func(remote) error) error {
	r, err := t.start(ctx, trapped)
	if err != nil {
		return err
	}
	if err := errors.Join(do(r), r.Kill()); err != nil {
		return err
	}
	return t.awaitFree(ctx)
}

// standsStill is a pause of the holder's process beyond its lease, between reading and writing.
func standsStill(ctx context.Context, t *trial) error {
	return t.stands(ctx, func(r remote, next *grip) error {
		if err := t.sell(ctx, next); err != nil {
			return err
		}
		if err := r.Continue(); err != nil {
			return err
		}
		wrote, err := r.must(toWrite)
		if err != nil {
			return err
		}
		heard, err := r.do(toListen)
		if err != nil {
			return err
		}
		return errors.Join(t.judge(ctx, wrote.Accepted, heard.Told), unlocked(ctx, next))
	})
}

// unlocksTooLate is that pause before the holder unlocks.
func unlocksTooLate(ctx context.Context, t *trial) error {
	return t.stands(ctx, func(r remote, next *grip) error {
		if err := r.Continue(); err != nil {
			return err
		}
		late, err := r.do(toUnlock)
		if err != nil {
			return err
		}
		inside, err := t.letsIn(ctx)
		switch {
		case err != nil:
			return err
		case inside:
			t.broken("it gave away the next one's lock: two inside at once")
			return nil // whose lock it is, nobody knows any more
		case late.Error == "":
			t.survived("the next one kept the lock, but the late one was not told")
		default:
			t.refused("the late unlock changed nothing: %s", late.Error)
		}
		return unlocked(ctx, next)
	})
}

// letsIn tells whether a lock that somebody has lets in a third one, of another process.
func (t *trial) letsIn(ctx context.Context) (inside bool, err error) {
	another, err := t.open(ctx, rival)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, another.close()) }()
	g, err := another.try(ctx)
	return g != nil, err
}

// stands lets a holder stand still, with its row read, until somebody else has the lock. Where nobody gets it, the holder goes
// on, and everybody has waited.
func (t *trial) stands(ctx context.Context, then func(r remote, next *grip) error) (err error) {
	r, err := t.start(ctx, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Kill()) }()
	if _, err := r.must(toLock, toRead); err != nil {
		return err
	}
	if err := r.Stop(); err != nil {
		return err
	}
	next, err := t.wait(ctx, leases*lease)
	if err != nil {
		return err
	}
	if next != nil {
		return then(r, next)
	}
	if err := r.Continue(); err != nil {
		return err
	}
	if _, err := r.must(toWrite, toUnlock); err != nil {
		return err
	}
	return t.awaitKept(ctx, "nobody else got in, and everybody waited until the holder went on")
}
