package lockbench

import (
	"context"
	"fmt"
	"time"

	"github.com/bsm/redislock"

	"inventory/loadtest/internal/servers"
)

// peerLease is what locks of the peers last that are not given back: as long as ours.
const peerLease = 30 * time.Second

const bsmName = "bsm/redislock"

// bsm is bsm/redislock, whose waiters poll.
func bsm(poll time.Duration) kind {
	return bsmOf(fmt.Sprint(bsmName, " ", poll), poll, func(name string) []string { return []string{name} })
}

// bsmMulti takes several keys as one.
func bsmMulti() kind {
	return bsmOf(bsmName+" of 3", 50*time.Millisecond, func(name string) (keys []string) {
		for i := range several {
			keys = append(keys, fmt.Sprintf("{%s}/%d", name, i))
		}
		return keys
	})
}

func bsmOf(kindName string, poll time.Duration, keys func(name string) []string) kind {
	return kind{
		name: kindName,
		open: func(ctx context.Context, s servers.URLs, callers int) (client, error) {
			w, err := openWire(ctx, s.RedisURL, callers)
			if err != nil {
				return nil, err
			}
			return &bsmClient{
				wire: w, locks: redislock.New(w.rdb), keys: keys,
				options: &redislock.Options{RetryStrategy: redislock.LinearBackoff(poll)},
			}, nil
		},
	}
}

type bsmClient struct {
	wire    *wire
	locks   *redislock.Client
	keys    func(name string) []string
	options *redislock.Options
}

func (c *bsmClient) commands() int64           { return c.wire.commands.Load() }
func (c *bsmClient) handle(name string) handle { return bsmHandle{c, c.keys("bsm:" + name)} }
func (c *bsmClient) close() error              { return c.wire.rdb.Close() }

type bsmHandle struct {
	client *bsmClient
	keys   []string
}

func (h bsmHandle) lock(ctx context.Context) (hold, error) {
	held, err := h.client.locks.ObtainMulti(ctx, h.keys, peerLease, h.client.options)
	if err != nil {
		return nil, err
	}
	return bsmHold{held}, nil
}

type bsmHold struct{ held *redislock.Lock }

// Unlock implements hold.
func (h bsmHold) Unlock(ctx context.Context) error { return h.held.Release(ctx) }
