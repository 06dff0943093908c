package lockbench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// checkers is how many callers of a process look, at most.
	checkers = 8
	// checks is how often each of them does.
	checks = 5
)

// checkExclusion looks whether anyone of any process is inside together with a caller of this one: whoever is inside
// stands in a counter on Redis. It returns how often there was company.
func checkExclusion(ctx context.Context, j job, f *fleet) (violations int64, err error) {
	options, err := redis.ParseURL(j.Servers.RedisURL)
	if err != nil {
		return 0, fmt.Errorf("redis URL: %w", err)
	}
	rdb := redis.NewClient(options)
	defer rdb.Close()
	ctx, cancel := context.WithTimeout(ctx, slack)
	defer cancel()
	counter := j.Lock + "-inside"
	var company atomic.Int64
	var failed atomic.Value
	var wait sync.WaitGroup
	for _, h := range f.handles(j.Lock, min(j.Callers, checkers)) {
		wait.Go(func() {
			for range checks {
				alone, err := isAlone(ctx, h, rdb, counter)
				if err != nil {
					failed.Store(err)
					return
				}
				if !alone {
					company.Add(1)
				}
			}
		})
	}
	wait.Wait()
	if err, is := failed.Load().(error); is {
		return company.Load(), fmt.Errorf("check exclusion of %s: %w", f.name, err)
	}
	return company.Load(), nil
}

// isAlone takes the lock once, and tells whether the caller was the only one who had it.
func isAlone(ctx context.Context, h handle, rdb *redis.Client, counter string) (bool, error) {
	held, err := h.lock(ctx)
	if err != nil {
		return false, err
	}
	inside, err := rdb.Incr(ctx, counter).Result()
	if err == nil {
		err = rdb.Decr(ctx, counter).Err()
	}
	if err == nil {
		err = rdb.Expire(ctx, counter, time.Minute).Err()
	}
	if unlockErr := held.Unlock(context.WithoutCancel(ctx)); err == nil {
		err = unlockErr
	}
	return inside == 1, err
}
