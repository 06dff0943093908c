package lockbench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/latency"
	"inventory/internal/locking"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/gauges"
	"inventory/loadtest/internal/kinds"
)

const (
	// defaultPeriod is that of the watchdog's default lease, of which it renews every third. The case runs with a
	// shorter lease, and its figures are converted.
	defaultPeriod = 10 * time.Second
	// takers is how many goroutines take the locks that are then held.
	takers = 16
	// periodsWatched is how many periods a round lasts.
	periodsWatched = 2
)

// manyHolds measures what it costs to keep 10,000 locks under the watchdog. What it is to take them is told once.
func manyHolds(ctx context.Context, b *bench) (all []experiment.Contender, done func() error, err error) {
	o, err := openOurs(ctx, b, locking.WatchdogLease(b.Scale.Lease))
	if err != nil {
		return nil, nil, err
	}
	kept := &keeper{ours: o, locker: func(i int) locking.Locker { return o.locks.Mutex(fmt.Sprint(b.run, "held-", i)) }}
	done = func() error { return errors.Join(kept.release(context.WithoutCancel(ctx)), o.close()) }
	taken, err := kept.take(ctx, b.Scale.Holds)
	if err != nil {
		return nil, nil, errors.Join(err, done())
	}
	return []experiment.Contender{{Name: mutexName, Ours: true, Play: func(ctx context.Context, _ time.Duration) (experiment.Sample, error) {
		f, err := kept.watch(ctx, b.Scale.Lease/3)
		if err == nil {
			maps.Copy(f, taken) // in the first round
			taken = nil
		}
		return f, err
	}}}, done, nil
}

// ours is the lock library itself, with what it sends.
type ours struct {
	rdb   *redis.Client
	locks *locking.Locks
	meter kinds.Meter
}

func openOurs(ctx context.Context, b *bench, options ...locking.Option) (o *ours, err error) {
	o = &ours{}
	if o.rdb, err = kinds.OpenRedis(ctx, b.URLs.RedisURL, kinds.Setting{Connections: takers, Spare: spare, Meter: &o.meter}); err != nil {
		return nil, err
	}
	if o.locks, err = locking.New(o.rdb, options...); err != nil {
		return nil, errors.Join(err, o.rdb.Close())
	}
	return o, nil
}

func (o *ours) close() error { return errors.Join(o.locks.Close(), o.rdb.Close()) }

// keeper keeps locks.
type keeper struct {
	*ours
	locker func(i int) locking.Locker

	mu    sync.Mutex
	holds []*locking.Hold
}

// take takes locks, and returns what it is to take one.
func (k *keeper) take(ctx context.Context, locks int) (experiment.Sample, error) {
	t := &tally{Counts: make([]int64, takers), Waits: latency.New()}
	before, start := k.meter.Commands.Load(), time.Now()
	err := k.share(locks, func(taker, lock int) error {
		called := time.Now()
		hold, err := k.locker(lock).Lock(ctx)
		if err != nil {
			return fmt.Errorf("take one of many locks: %w", err)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		t.Waits.Record(time.Since(called))
		t.Counts[taker]++
		t.All++
		k.holds = append(k.holds, hold)
		return nil
	})
	t.Elapsed, t.Commands = time.Since(start), k.meter.Commands.Load()-before
	return t.figures(), err
}

// share lets takers do something with each of some things.
func (k *keeper) share(things int, do func(taker, thing int) error) error {
	errs := make([]error, takers)
	var wait sync.WaitGroup
	for taker := range takers {
		wait.Go(func() {
			for thing := taker; thing < things && errs[taker] == nil; thing += takers {
				errs[taker] = do(taker, thing)
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// watch measures some periods of the watchdog.
func (k *keeper) watch(ctx context.Context, period time.Duration) (experiment.Sample, error) {
	trips, start := k.meter.Trips.Load(), time.Now()
	cpu, err := gauges.OwnCPU(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case <-time.After(periodsWatched * period):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	after, err := gauges.OwnCPU(ctx)
	if err != nil {
		return nil, err
	}
	periods := float64(time.Since(start)) / float64(period)
	used := float64(after-cpu) / periods // in a period
	return experiment.Sample{
		TripsPerPeriod:   float64(k.meter.Trips.Load()-trips) / periods,
		CPUPercent:       100 * used / float64(defaultPeriod),
		MicrosPerRenewal: used / float64(time.Microsecond) / float64(len(k.holds)),
		LostHolds:        float64(k.lost()),
	}, nil
}

// lost counts holds that are no more.
func (k *keeper) lost() (count int) {
	for _, hold := range k.holds {
		if hold.Context().Err() != nil {
			count++
		}
	}
	return count
}

func (k *keeper) release(ctx context.Context) error {
	return k.share(len(k.holds), func(_, i int) error { return k.holds[i].Unlock(ctx) })
}

func manyHoldsTargets() []experiment.Target {
	return []experiment.Target{
		experiment.AtMost("round trips a period", experiment.Level(TripsPerPeriod, mutexName), 100),
		experiment.AtMost("percent of a core, at the default lease", experiment.Level(CPUPercent, mutexName), 2),
		experiment.AtMost("holds lost", experiment.Level(LostHolds, mutexName), 0),
	}
}
