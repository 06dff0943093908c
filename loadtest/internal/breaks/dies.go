package breaks

import (
	"context"
	"errors"
)

func diesWhileItLocks(ctx context.Context, t *trial) error {
	return t.dies(ctx, true, func(r *remote) error {
		a, err := r.do(toLock)
		if err == nil && !a.Trapped {
			err = errors.New("the holder was not trapped in its lock")
		}
		return err
	})
}

func diesWhileItHolds(ctx context.Context, t *trial) error {
	return t.dies(ctx, false, func(r *remote) error { return r.must(toLock) })
}

// dies kills a process that has done something.
func (t *trial) dies(ctx context.Context, trapped bool, do func(*remote) error) error {
	r, err := t.start(ctx, trapped)
	if err != nil {
		return err
	}
	if err := errors.Join(do(r), r.kill()); err != nil {
		return err
	}
	return t.awaitFree(ctx)
}
