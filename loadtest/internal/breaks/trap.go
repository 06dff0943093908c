package breaks

import (
	"context"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// trap stops a process between two commands to Redis: after the next one that Redis has done, and before the client has
// heard of it.
type trap struct {
	armed  atomic.Bool
	sprung func() // never returns
}

// done springs a trap that is armed, once.
func (t *trap) done(err error) {
	if err == nil && t.armed.CompareAndSwap(true, false) {
		t.sprung()
	}
}

// DialHook implements [redis.Hook].
func (t *trap) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook].
func (t *trap) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		t.done(err)
		return err
	}
}

// ProcessPipelineHook implements [redis.Hook].
func (t *trap) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		t.done(err)
		return err
	}
}
