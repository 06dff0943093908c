package lockbench

import (
	"context"
	"fmt"
	"time"

	"github.com/bsm/redislock"
)

// peerLease is what locks of the peers last that are not given back: as long as ours.
const peerLease = 30 * time.Second

// bsm is bsm/redislock, whose waiters poll.
func bsm(poll time.Duration) kind {
	return kind{
		name: fmt.Sprintf("bsm/redislock %s", poll),
		open: func(ctx context.Context, s Servers, callers int) (client, error) {
			w, err := openWire(ctx, s.RedisURL, callers)
			if err != nil {
				return nil, err
			}
			return &bsmClient{
				wire: w, locks: redislock.New(w.rdb),
				options: &redislock.Options{RetryStrategy: redislock.LinearBackoff(poll)},
			}, nil
		},
	}
}

type bsmClient struct {
	wire    *wire
	locks   *redislock.Client
	options *redislock.Options
}

func (c *bsmClient) commands() int64           { return c.wire.commands.Load() }
func (c *bsmClient) handle(name string) handle { return bsmHandle{c, "bsm:" + name} }
func (c *bsmClient) close() error              { return c.wire.rdb.Close() }

type bsmHandle struct {
	client *bsmClient
	name   string
}

func (h bsmHandle) lock(ctx context.Context) (hold, error) {
	held, err := h.client.locks.Obtain(ctx, h.name, peerLease, h.client.options)
	if err != nil {
		return nil, err
	}
	return bsmHold{held}, nil
}

type bsmHold struct{ held *redislock.Lock }

// Unlock implements hold.
func (h bsmHold) Unlock(ctx context.Context) error { return h.held.Release(ctx) }
