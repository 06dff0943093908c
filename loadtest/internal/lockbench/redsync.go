package lockbench

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"inventory/loadtest/internal/servers"
)

const redsyncName = "redsync"

// redsyncKind is redsync on one server. By default its waiters give up after a few seconds; here they go on, and poll
// more often than they would.
func redsyncKind() kind {
	return kind{name: redsyncName, open: func(ctx context.Context, s servers.URLs, callers int) (client, error) {
		w, err := openWire(ctx, s.RedisURL, callers)
		if err != nil {
			return nil, err
		}
		return &redsyncClient{wire: w, locks: redsync.New(goredis.NewPool(w.rdb))}, nil
	}}
}

type redsyncClient struct {
	wire  *wire
	locks *redsync.Redsync
}

func (c *redsyncClient) commands() int64 { return c.wire.commands.Load() }
func (c *redsyncClient) close() error    { return c.wire.rdb.Close() }

func (c *redsyncClient) handle(name string) handle {
	return redsyncHandle{c.locks.NewMutex("redsync:"+name,
		redsync.WithExpiry(peerLease), redsync.WithTries(math.MaxInt), redsync.WithRetryDelayFunc(redsyncDelay))}
}

// redsyncDelay is 1 to 50 ms.
func redsyncDelay(int) time.Duration { return time.Millisecond + rand.N(49*time.Millisecond) }

// redsyncHandle is its own hold: a mutex of redsync is one caller's.
type redsyncHandle struct{ mutex *redsync.Mutex }

func (h redsyncHandle) lock(ctx context.Context) (hold, error) {
	if err := h.mutex.LockContext(ctx); err != nil {
		return nil, err
	}
	return h, nil
}

// Unlock implements hold.
func (h redsyncHandle) Unlock(ctx context.Context) error {
	ours, err := h.mutex.UnlockContext(ctx)
	if err == nil && !ours {
		err = errors.New("the lock was not ours any more")
	}
	return err
}
