package kinds

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// The Go libraries that lock on Redis.
const (
	BSM     = "bsm/redislock"
	Redsync = "redsync"
)

// pace is how long a waiter stays away, more or less: waiters that came together would try together again.
type pace time.Duration

// NextBackoff implements [redislock.RetryStrategy].
func (p pace) NextBackoff() time.Duration { return time.Duration(p)/2 + rand.N(time.Duration(p)) }

// bsm is a lock of bsm/redislock.
func bsm(rdb *redis.Client, key string, s Setting) Lock {
	locks := redislock.New(rdb)
	return func(ctx context.Context) (Hold, error) {
		held, err := locks.Obtain(ctx, key, s.Lease, &redislock.Options{RetryStrategy: pace(s.Poll)})
		if err != nil {
			return nil, fmt.Errorf("lock by bsm/redislock: %w", err)
		}
		return unlock(held.Release), nil
	}
}

// ofRedsync is a lock of redsync on one server, whose waiters go on. By default they would give up after a few seconds. A
// mutex of redsync is one caller's.
func ofRedsync(rdb *redis.Client, key string, s Setting) Lock {
	locks := redsync.New(goredis.NewPool(rdb))
	delay := func(int) time.Duration { return pace(s.Poll).NextBackoff() }
	return func(ctx context.Context) (Hold, error) {
		m := locks.NewMutex(key, redsync.WithExpiry(s.Lease), redsync.WithTries(math.MaxInt), redsync.WithRetryDelayFunc(delay))
		if err := m.LockContext(ctx); err != nil {
			return nil, fmt.Errorf("lock by redsync: %w", err)
		}
		return unlock(func(ctx context.Context) error {
			ours, err := m.UnlockContext(ctx)
			if err == nil && !ours {
				err = ErrNotHeld
			}
			return err
		}), nil
	}
}
