package breaks

import (
	"context"
	"errors"
	"time"
)

// dies kills the process when it has locked.
func dies(ctx context.Context, t *trial) error {
	_, err := t.holder.must(toLock)
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
