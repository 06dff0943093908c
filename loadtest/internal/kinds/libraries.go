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

	"inventory/loadtest/internal/textbook"
)

// The Go libraries that lock on Redis, and one that takes several keys as one.
const (
	BSM      = "bsm/redislock"
	BSMMulti = "bsm/redislock of 3"
	Redsync  = "redsync"
)

func libraries() []Kind {
	one := func(name string) []string { return []string{name} }
	return []Kind{
		library(BSM, true, func(rdb *redis.Client, s Setting, name string) textbook.Lock {
			return bsmLock{redislock.New(rdb), one("bsm:" + name), s.Timing}
		}),
		library(BSMMulti, false, func(rdb *redis.Client, s Setting, name string) textbook.Lock {
			return bsmLock{redislock.New(rdb), []string{"{bsm:" + name + "}/0", "{bsm:" + name + "}/1", "{bsm:" + name + "}/2"}, s.Timing}
		}),
		library(Redsync, false, func(rdb *redis.Client, s Setting, name string) textbook.Lock {
			return redsyncLock{redsync.New(goredis.NewPool(rdb)), "redsync:" + name, s.Timing}
		}),
	}
}

func library(name string, polls bool, of func(rdb *redis.Client, s Setting, name string) textbook.Lock) Kind {
	return Kind{Name: name, Polls: polls, Open: func(ctx context.Context, s Setting) (*Client, error) {
		rdb, err := OpenRedis(ctx, s.RedisURL, s)
		if err != nil {
			return nil, err
		}
		return &Client{Lock: func(name string) textbook.Lock { return of(rdb, s, name) }, Close: rdb.Close}, nil
	}}
}

// pace is how long a waiter stays away, more or less: waiters that came together would try together again.
type pace time.Duration

// NextBackoff implements [redislock.RetryStrategy].
func (p pace) NextBackoff() time.Duration { return time.Duration(p)/2 + rand.N(time.Duration(p)) }

// bsmLock is a lock of bsm/redislock, on one key or several.
type bsmLock struct {
	locks  *redislock.Client
	keys   []string
	timing textbook.Timing
}

// Lock implements [textbook.Lock].
func (l bsmLock) Lock(ctx context.Context) (textbook.Hold, error) {
	return l.obtain(ctx, pace(l.timing.Poll))
}

// TryLock implements [textbook.Lock].
func (l bsmLock) TryLock(ctx context.Context) (textbook.Hold, error) {
	return l.obtain(ctx, redislock.NoRetry())
}

func (l bsmLock) obtain(ctx context.Context, again redislock.RetryStrategy) (textbook.Hold, error) {
	held, err := l.locks.ObtainMulti(ctx, l.keys, l.timing.Lease, &redislock.Options{RetryStrategy: again})
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil, errors.Join(textbook.ErrBusy, err)
	}
	if err != nil {
		return nil, fmt.Errorf("lock by bsm/redislock: %w", err)
	}
	return bsmHold{held}, nil
}

type bsmHold struct{ held *redislock.Lock }

// Unlock implements [textbook.Hold].
func (h bsmHold) Unlock(ctx context.Context) error { return h.held.Release(ctx) }

// redsyncLock is a lock of redsync on one server, whose waiters go on. By default they would give up after a few seconds. A
// mutex of redsync is one caller's.
type redsyncLock struct {
	locks  *redsync.Redsync
	name   string
	timing textbook.Timing
}

// Lock implements [textbook.Lock].
func (l redsyncLock) Lock(ctx context.Context) (textbook.Hold, error) {
	m := l.mutex()
	if err := m.LockContext(ctx); err != nil {
		return nil, fmt.Errorf("lock by redsync: %w", err)
	}
	return redsyncHold{m}, nil
}

// TryLock implements [textbook.Lock].
func (l redsyncLock) TryLock(ctx context.Context) (textbook.Hold, error) {
	m := l.mutex()
	err := m.TryLockContext(ctx)
	if taken := (*redsync.ErrTaken)(nil); errors.As(err, &taken) {
		return nil, errors.Join(textbook.ErrBusy, err)
	}
	if err != nil {
		return nil, fmt.Errorf("lock by redsync: %w", err)
	}
	return redsyncHold{m}, nil
}

func (l redsyncLock) mutex() *redsync.Mutex {
	delay := func(int) time.Duration { return pace(l.timing.Poll).NextBackoff() }
	return l.locks.NewMutex(l.name, redsync.WithExpiry(l.timing.Lease), redsync.WithTries(math.MaxInt), redsync.WithRetryDelayFunc(delay))
}

type redsyncHold struct{ mutex *redsync.Mutex }

// Unlock implements [textbook.Hold].
func (h redsyncHold) Unlock(ctx context.Context) error {
	ours, err := h.mutex.UnlockContext(ctx)
	if err == nil && !ours {
		err = textbook.ErrNotHeld
	}
	return err
}
