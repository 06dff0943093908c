package contenders

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
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"inventory/loadtest/internal/crowd"
)

//go:embed take_units.sql
var takeUnitsSQL string

//go:embed insert_order.sql
var insertOrderSQL string

const textbookName = "textbook segments"

// lockLibrary is another one.
type lockLibrary struct {
	name string
	// open returns what takes a lock by its name. Waiters try again after pause.
	open func(rdb *redis.Client, pause time.Duration) lockFunc
}

// lockFunc takes a lock. ctx bounds the wait; unlock does not need it.
type lockFunc func(ctx context.Context, name string) (unlock func(ctx context.Context) error, err error)

const (
	// lease is longer than anybody holds a lock.
	lease = 30 * time.Second
	// triesPerMillisecond are those of all waiters together: often enough that a free lock is taken soon, seldom
	// enough that Redis has time for who holds it.
	triesPerMillisecond = 6
)

// pauseOf is how long each of some waiters stays away between its tries.
func pauseOf(waiters int) time.Duration {
	return max(time.Duration(waiters)*time.Millisecond/triesPerMillisecond, time.Millisecond)
}

// pace is how long a waiter stays away, more or less: waiters that came together would try together again.
type pace time.Duration

// NextBackoff implements [redislock.RetryStrategy].
func (p pace) NextBackoff() time.Duration { return time.Duration(p)/2 + rand.N(time.Duration(p)) }

// oneLock is one Redis lock for the whole SKU, around one row.
func oneLock(library lockLibrary) design {
	return design{name: "one Redis lock, " + library.name, open: func(_ context.Context, m *market, callers int) (shop, error) {
		lock := library.open(m.redis, pauseOf(callers))
		return shop{prepare: m.create(1), sell: func(ctx context.Context, o crowd.Order) (crowd.Outcome, error) {
			return locked(ctx, lock, o, 0, m.take)
		}}, nil
	}}
}

// textbook is a Redis lock for each segment, around a transaction of an UPDATE and an INSERT.
func textbook() design { return segmentLocks(textbookName, (*market).takeInSteps) }

// textbookInOneStatement is that with one statement for the transaction.
func textbookInOneStatement() design {
	return segmentLocks("textbook segments, one statement", (*market).take)
}

func segmentLocks(name string, take func(m *market, ctx context.Context, o crowd.Order, segment int) (crowd.Outcome, error)) design {
	return design{name: name, open: func(_ context.Context, m *market, callers int) (shop, error) {
		lock := bsmLocks().open(m.redis, pauseOf(callers))
		return shop{prepare: m.create(m.segments()), sell: func(ctx context.Context, o crowd.Order) (crowd.Outcome, error) {
			return locked(ctx, lock, o, rand.IntN(m.segments()), func(ctx context.Context, o crowd.Order, segment int) (crowd.Outcome, error) {
				return take(m, ctx, o, segment)
			})
		}}, nil
	}}
}

// locked takes an order's unit from a segment under that segment's lock.
func locked(ctx context.Context, lock lockFunc, o crowd.Order, segment int,
	take func(ctx context.Context, o crowd.Order, segment int) (crowd.Outcome, error),
) (became crowd.Outcome, err error) {
	waiting, cancel := context.WithDeadline(ctx, o.End)
	defer cancel()
	unlock, err := lock(waiting, fmt.Sprintf("contenders/%s/%d", o.SKU, segment))
	switch {
	case err != nil && !time.Now().Before(o.End):
		return crowd.GaveUp, nil
	case err != nil:
		return crowd.Refused, fmt.Errorf("lock: %w", err)
	}
	became, err = take(ctx, o, segment)
	return became, errors.Join(err, unlock(ctx))
}

// takeInSteps takes an order's unit from a segment in a transaction of two statements.
func (m *market) takeInSteps(ctx context.Context, o crowd.Order, segment int) (became crowd.Outcome, err error) {
	err = pgx.BeginFunc(ctx, m.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, takeUnitsSQL, o.SKU, segment)
		if became, err = inserted(tag, err); err != nil || became == crowd.Refused {
			return err
		}
		_, err = tx.Exec(ctx, insertOrderSQL, o.SKU, segment, o.ID)
		return err
	})
	return became, err
}

// bsmLocks are those of bsm/redislock.
func bsmLocks() lockLibrary {
	return lockLibrary{"bsm/redislock", func(rdb *redis.Client, pause time.Duration) lockFunc {
		locks := redislock.New(rdb)
		return func(ctx context.Context, name string) (func(context.Context) error, error) {
			held, err := locks.Obtain(ctx, name, lease, &redislock.Options{RetryStrategy: pace(pause)})
			if err != nil {
				return nil, err
			}
			return held.Release, nil
		}
	}}
}

// redsyncLocks are those of redsync on one server.
func redsyncLocks() lockLibrary {
	return lockLibrary{"redsync", func(rdb *redis.Client, pause time.Duration) lockFunc {
		locks := redsync.New(goredis.NewPool(rdb))
		delay := func(int) time.Duration { return pace(pause).NextBackoff() }
		return func(ctx context.Context, name string) (func(context.Context) error, error) {
			mutex := locks.NewMutex(name, redsync.WithExpiry(lease), redsync.WithTries(math.MaxInt), redsync.WithRetryDelayFunc(delay))
			if err := mutex.LockContext(ctx); err != nil {
				return nil, err
			}
			return func(ctx context.Context) error {
				ours, err := mutex.UnlockContext(ctx)
				if err == nil && !ours {
					err = errors.New("the lock was not ours any more")
				}
				return err
			}, nil
		}
	}}
}
