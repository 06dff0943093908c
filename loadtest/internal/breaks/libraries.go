package breaks

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
)

// poll is how often those try again who can only wait in this way.
const poll = 20 * time.Millisecond

// The Go libraries.
const (
	bsmName     = "bsm/redislock"
	redsyncName = "redsync"
)

func libraries() []contender {
	return []contender{{name: bsmName, open: openBSM}, {name: redsyncName, open: openRedsync}}
}

func openBSM(ctx context.Context, s setting) (*access, error) {
	rdb, err := openRedis(ctx, s.RedisURL, s)
	if err != nil {
		return nil, err
	}
	locks := redislock.New(rdb)
	obtain := func(ctx context.Context, name string, again redislock.RetryStrategy) (*grip, error) {
		held, err := locks.Obtain(ctx, "bsm:"+name, s.lease, &redislock.Options{RetryStrategy: again})
		if err != nil {
			return nil, err
		}
		return &grip{unlock: held.Release}, nil
	}
	return &access{
		lock: func(ctx context.Context, name string) (*grip, error) {
			return obtain(ctx, name, redislock.LinearBackoff(poll))
		},
		try: func(ctx context.Context, name string) (*grip, error) {
			g, err := obtain(ctx, name, redislock.NoRetry())
			if errors.Is(err, redislock.ErrNotObtained) {
				return nil, nil
			}
			return g, err
		},
		close: rdb.Close,
	}, nil
}

func openRedsync(ctx context.Context, s setting) (*access, error) {
	rdb, err := openRedis(ctx, s.RedisURL, s)
	if err != nil {
		return nil, err
	}
	locks := redsync.New(goredis.NewPool(rdb))
	mutex := func(name string) *redsync.Mutex {
		return locks.NewMutex("redsync:"+name, redsync.WithExpiry(s.lease), redsync.WithTries(math.MaxInt), redsync.WithRetryDelay(poll))
	}
	return &access{
		lock: func(ctx context.Context, name string) (*grip, error) {
			m := mutex(name)
			return redsyncGrip(m, m.LockContext(ctx))
		},
		try: func(ctx context.Context, name string) (*grip, error) {
			m := mutex(name)
			g, err := redsyncGrip(m, m.TryLockContext(ctx))
			if taken := (*redsync.ErrTaken)(nil); errors.As(err, &taken) {
				return nil, nil
			}
			return g, err
		},
		close: rdb.Close,
	}, nil
}

func redsyncGrip(m *redsync.Mutex, err error) (*grip, error) {
	if err != nil {
		return nil, err
	}
	return &grip{unlock: func(ctx context.Context) error {
		ours, err := m.UnlockContext(ctx)
		if err == nil && !ours {
			err = errors.New("the lock was not ours any more")
		}
		return err
	}}, nil
}
