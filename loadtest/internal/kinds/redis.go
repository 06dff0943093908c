package kinds

import (
	"context"
	_ "embed"
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

// The locks of others on Redis: that of textbooks, and those of Go libraries.
const (
	SetNX   = "SET NX"
	BSM     = "bsm/redislock"
	Redsync = "redsync"
)

// onRedis opens the locks of a kind on Redis.
func onRedis(kind string, lock func(rdb *redis.Client, key string, s Setting) Lock) func(context.Context, Setting) (*Client, error) {
	return func(ctx context.Context, s Setting) (*Client, error) {
		rdb, err := OpenRedis(ctx, s.RedisURL, s)
		if err != nil {
			return nil, err
		}
		return &Client{Lock: func(name string) Lock { return lock(rdb, kind+":"+name, s) }, Close: rdb.Close}, nil
	}
}

var (
	//go:embed give_back.lua
	giveBackSource string
	giveBack       = redis.NewScript(giveBackSource)
)

// longestBLPOP is shorter than clients wait for an answer.
const longestBLPOP = time.Second

// setNX is the lock of Redis' own documentation: it takes a key with a value of its own and a lease, in one command (SET NX PX),
// and gives it back by compare-and-delete. Its release wakes a waiter: waiters wait for an element of a list (BLPOP), first come
// first served, and then try. A caller that comes in between is faster, and the waiter waits for the next release. Waiters also
// poll, as a holder that has died releases nothing.
//
// Its flaw: the lease is not renewed, its end is not reported to the holder, and there is no fencing token. A holder that is
// stopped for longer goes on as if it had the lock, as the next one does. After a lost release all wait for the rest of the lease.
// And a waiter occupies a connection.
func setNX(rdb *redis.Client, key string, s Setting) Lock {
	signals := key + ":signals"
	return recipe{
		take: func(ctx context.Context, owner string) (bool, error) {
			return rdb.SetNX(ctx, key, owner, s.Lease).Result()
		},
		give: func(ctx context.Context, owner string) (bool, error) {
			return giveBack.Run(ctx, rdb, []string{key, signals}, owner).Bool()
		},
	}.again(key, func(ctx context.Context) error {
		patience := min(s.Poll, longestBLPOP)
		if end, has := ctx.Deadline(); has { // the server keeps it: a connection that is cut off would be lost
			patience = min(patience, time.Until(end))
		}
		if patience > 0 {
			seconds := max(patience, time.Millisecond).Seconds() // go-redis' own BLPop knows whole ones alone
			err := rdb.Do(context.WithoutCancel(ctx), "BLPOP", signals, seconds).Err()
			if err != nil && !errors.Is(err, redis.Nil) {
				return fmt.Errorf("wait for %s: %w", key, err)
			}
		}
		return ctx.Err()
	})
}

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
