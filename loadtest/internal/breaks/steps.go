package breaks

import (
	"context"
	"errors"
	"time"
)

// dies kills the process when it has locked, or while it locks.
func dies(ctx context.Context, t *trial) error {
	a, err := t.holder.must(toLock)
	if err == nil && a.Trapped != t.fault.holder.Trap {
		err = errors.New("the holder was not trapped in its lock")
	}
	if err := errors.Join(err, t.holder.Kill()); err != nil {
		return err
	}
	return t.await(ctx, forever.String(), "")
}

// waited is the outcome for a lock that a stopped holder keeps.
const waited = "nobody else got in, and everybody waited until the holder went on"

// standsStill is a pause of the holder's process beyond its lease, between reading and writing.
func standsStill(ctx context.Context, t *trial) error {
	return t.overtaken(ctx, t.holder.Stop, t.holder.Continue, forever, waited, t.writesLate)
}

// connectionIsCut is the end of the connections that the holder locked over.
func connectionIsCut(ctx context.Context, t *trial) error {
	cut := func() error {
		_, err := t.holder.must(toCut)
		return err
	}
	well := "the lock was kept for " + kept.String() + ", and given back"
	return t.overtaken(ctx, cut, func() error { return nil }, kept, well, t.writesLate)
}

// unlocksTooLate is the pause of standsStill before the holder unlocks.
func unlocksTooLate(ctx context.Context, t *trial) error {
	return t.overtaken(ctx, t.holder.Stop, t.holder.Continue, forever, waited, func(ctx context.Context, goOn func() error, next *grip) error {
		if err := goOn(); err != nil {
			return err
		}
		late, err := t.holder.do(toUnlock)
		if err != nil {
			return err
		}
		inside, err := t.letsIn(ctx)
		switch {
		case err != nil:
			return err
		case inside:
			t.became(broken, "it gave away the next one's lock: two inside at once")
			return nil // and nothing to unlock: the lock may be the third one's
		case late.Error == "":
			t.became(survived, "the next one kept the lock, but the late one was not told")
		default:
			t.became(refused, "the late unlock changed nothing: %s", late.Error)
		}
		return next.unlock(ctx)
	})
}

// letsIn reports whether a lock that is held lets in a third caller, of another process.
func (t *trial) letsIn(ctx context.Context) (inside bool, err error) {
	another, err := t.open(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, another.close()) }()
	g, err := another.try(ctx)
	return g != nil, err
}

// overtaken causes something for a holder that has read its row, and has the rival wait for the lock up to a bound. If the
// rival gets it, then follows; else the holder goes on, writes and unlocks, and the outcome is well.
func (t *trial) overtaken(ctx context.Context, happens, goOn func() error, bound time.Duration, well string,
	then func(ctx context.Context, goOn func() error, next *grip) error,
) error {
	if _, err := t.holder.must(toLock, toRead); err != nil {
		return err
	}
	if err := happens(); err != nil {
		return err
	}
	next, err := t.wait(ctx, bound)
	switch {
	case err != nil:
		return err
	case next != nil:
		return then(ctx, goOn, next)
	}
	if err := goOn(); err != nil {
		return err
	}
	wrote, err := t.holder.must(toWrite)
	switch {
	case err != nil:
		return err
	case !wrote.Done:
		t.became(broken, "the row refused who has the lock")
		return nil
	}
	if _, err := t.holder.must(toUnlock); err != nil {
		return err
	}
	return t.await(ctx, "the holder had unlocked", well)
}

// writesLate has the holder write after the next one has sold.
func (t *trial) writesLate(ctx context.Context, goOn func() error, next *grip) error {
	if err := t.sell(ctx, next); err != nil {
		return err
	}
	if err := goOn(); err != nil {
		return err
	}
	wrote, err := t.holder.must(toWrite)
	if err != nil {
		return err
	}
	heard, err := t.holder.must(toListen)
	if err != nil {
		return err
	}
	return errors.Join(t.judge(ctx, wrote.Done, heard.Told), next.unlock(ctx))
}

// unlockIsLost is a network that is gone while the holder unlocks.
func unlockIsLost(ctx context.Context, t *trial) error {
	if _, err := t.holder.must(toLock, toPull); err != nil {
		return err
	}
	lost, err := t.holder.do(toUnlock)
	if err == nil && lost.Error == "" {
		err = errors.New("the holder could unlock without a network")
	}
	if err != nil {
		return err
	}
	if _, err := t.holder.must(toPlug); err != nil {
		return err
	}
	return t.await(ctx, forever.String(), "")
}

// sharesConnection is two callers of one process, whose pool has one connection.
func sharesConnection(_ context.Context, t *trial) error {
	second, err := t.holder.must(toLock, toShare)
	if err != nil {
		return err
	}
	if second.Done {
		t.became(broken, "the second caller got the lock as well: two inside at once")
	} else {
		t.became(survived, "the second caller was kept out")
	}
	_, err = t.holder.must(toUnlock)
	return err
}

// unlocksElsewhere is a pool of two connections, which are lent in turn.
func unlocksElsewhere(ctx context.Context, t *trial) error {
	if _, err := t.holder.must(toLock); err != nil {
		return err
	}
	late, err := t.holder.do(toUnlock)
	if err != nil {
		return err
	}
	if err := t.await(ctx, forever.String(), ""); err != nil {
		return err
	}
	if t.result.Broken && late.Error != "" {
		t.became(broken, "still locked after %s; the unlock said: %s", forever, late.Error)
	}
	return nil
}
