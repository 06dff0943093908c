package breaks

import (
	"context"
	"errors"
)

// standsStill is a pause of the holder's process beyond its lease, between reading and writing.
func standsStill(ctx context.Context, t *trial) error {
	return t.stands(ctx, func(r *remote, next *grip) error {
		if next == nil {
			return t.waitsItOut(ctx, r)
		}
		if err := t.sell(ctx, next); err != nil {
			return err
		}
		if err := r.process.Continue(); err != nil {
			return err
		}
		wrote, err := r.do(toWrite)
		if err == nil && wrote.Error != "" {
			err = errors.New(wrote.Error)
		}
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
	return t.stands(ctx, func(r *remote, next *grip) error {
		if next == nil {
			return t.waitsItOut(ctx, r)
		}
		if err := r.process.Continue(); err != nil {
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
	another, err := t.open(ctx, setting{rival: true})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, another.close()) }()
	g, err := another.try(ctx, t.name)
	return g != nil, err
}

// stands lets a holder stand still, with its row read, until somebody else has the lock; next is nil if nobody gets it.
func (t *trial) stands(ctx context.Context, then func(r *remote, next *grip) error) (err error) {
	r, err := t.start(ctx, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.kill()) }()
	if err := r.must(toLock, toRead); err != nil {
		return err
	}
	if err := r.process.Stop(); err != nil {
		return err
	}
	next, err := t.wait(ctx, leases*lease)
	if err != nil {
		return err
	}
	return then(r, next)
}

// waitsItOut is what happens where nobody gets the lock of a holder that stands still.
func (t *trial) waitsItOut(ctx context.Context, r *remote) error {
	if err := r.process.Continue(); err != nil {
		return err
	}
	if err := r.must(toWrite, toUnlock); err != nil {
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
	t.survived("nobody else got in, and everybody waited until the holder went on")
	return unlocked(ctx, next)
}
