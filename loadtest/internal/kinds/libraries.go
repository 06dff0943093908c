package kinds

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// The Go libraries that lock on Redis, and one that takes several keys as one.
const (
	BSM      = "bsm/redislock"
	BSMMulti = "bsm/redislock of 3"
	Redsync  = "redsync"
)

// Libraries are their kinds.
func Libraries() []Kind {
	return []Kind{
		{Name: BSM, Polls: true, Flaw: leaseFlaw, Open: onRedis(BSM, func(rdb *redis.Client, key string, t Timing) Lock {
			return bsm(rdb, t, key)
		})},
		{Name: BSMMulti, Open: onRedis(BSMMulti, func(rdb *redis.Client, key string, t Timing) Lock {
			return bsm(rdb, t, "{"+key+"}/0", "{"+key+"}/1", "{"+key+"}/2")
		})},
		{Name: Redsync, Flaw: leaseFlaw, Open: onRedis(Redsync, ofRedsync)},
	}
}

// pace is how long a waiter stays away, more or less: waiters that came together would try together again.
type pace time.Duration

// NextBackoff implements [redislock.RetryStrategy].
func (p pace) NextBackoff() time.Duration { return time.Duration(p)/2 + rand.N(time.Duration(p)) }

// bsm is a lock of bsm/redislock, on one key or several.
func bsm(rdb *redis.Client, t Timing, keys ...string) Lock {
	locks := redislock.New(rdb)
	return func(ctx context.Context, wait bool) (Hold, error) {
		again := redislock.NoRetry()
		if wait {
			again = pace(t.Poll)
		}
		held, err := locks.ObtainMulti(ctx, keys, t.Lease, &redislock.Options{RetryStrategy: again})
		if errors.Is(err, redislock.ErrNotObtained) {
			return nil, errors.Join(ErrBusy, err)
		}
		if err != nil {
			return nil, fmt.Errorf("lock by bsm/redislock: %w", err)
		}
		return unlock(held.Release), nil
	}
}

// ofRedsync is a lock of redsync on one server, whose waiters go on. By default they would give up after a few seconds. A
// mutex of redsync is one caller's.
func ofRedsync(rdb *redis.Client, key string, t Timing) Lock {
	locks := redsync.New(goredis.NewPool(rdb))
	delay := func(int) time.Duration { return pace(t.Poll).NextBackoff() }
	return func(ctx context.Context, wait bool) (Hold, error) {
		m := locks.NewMutex(key, redsync.WithExpiry(t.Lease), redsync.WithTries(math.MaxInt), redsync.WithRetryDelayFunc(delay))
		take := m.TryLockContext
		if wait {
			take = m.LockContext
		}
		err := take(ctx)
		if taken := (*redsync.ErrTaken)(nil); !wait && errors.As(err, &taken) {
			return nil, errors.Join(ErrBusy, err)
		}
		if err != nil {
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
