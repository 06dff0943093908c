package lockbench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"inventory/internal/latency"
	"inventory/internal/locking"
	"inventory/loadtest/internal/report"
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

// manyHolds measures what it costs to keep 10,000 locks under the watchdog.
func manyHolds(ctx context.Context, b *bench) (contenders []Contender, err error) {
	w, err := openWire(ctx, b.servers.RedisURL, takers)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.rdb.Close()) }()
	locks, err := locking.New(w.rdb, locking.WatchdogLease(b.scale.Lease))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, locks.Close()) }()
	kept := &keeper{locker: func(i int) locking.Locker { return locks.Mutex(fmt.Sprint(b.run, "held-", i)) }}
	taken, err := kept.take(ctx, w, b.scale.Holds)
	if err != nil {
		return nil, err
	}
	round := func(ctx context.Context, _ int) (Figures, string) {
		f, err := kept.watch(ctx, w, b.scale.Lease/3)
		if err != nil {
			return f, err.Error()
		}
		for name, value := range taken {
			f[name] = value
		}
		return f, ""
	}
	contenders = b.rounds(ctx, []entrant{{mutexName, true, round}})
	return contenders, kept.release(context.WithoutCancel(ctx))
}

// keeper keeps locks.
type keeper struct {
	locker func(i int) locking.Locker

	mu    sync.Mutex
	holds []*locking.Hold
}

// take takes locks, and returns what it is to take one.
func (k *keeper) take(ctx context.Context, w *wire, locks int) (Figures, error) {
	t := &tally{counts: make([]int64, takers), waits: latency.New()}
	before, start := w.commands.Load(), time.Now()
	err := k.share(locks, func(taker, lock int) error {
		called := time.Now()
		hold, err := k.locker(lock).Lock(ctx)
		if err != nil {
			return fmt.Errorf("take one of many locks: %w", err)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		t.waits.Record(time.Since(called))
		t.counts[taker]++
		t.all++
		k.holds = append(k.holds, hold)
		return nil
	})
	t.elapsed = time.Since(start)
	return t.figures(w.commands.Load() - before), err
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
func (k *keeper) watch(ctx context.Context, w *wire, period time.Duration) (Figures, error) {
	trips, start := w.trips.Load(), time.Now()
	cpu, err := cpuTime()
	if err != nil {
		return Figures{}, err
	}
	select {
	case <-time.After(periodsWatched * period):
	case <-ctx.Done():
		return Figures{}, ctx.Err()
	}
	after, err := cpuTime()
	if err != nil {
		return Figures{}, err
	}
	periods := float64(time.Since(start)) / float64(period)
	used := float64(after-cpu) / periods // in a period
	return Figures{
		TripsPerPeriod:   float64(w.trips.Load()-trips) / periods,
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

func manyHoldsTargets(c Case) []report.Target {
	mutex := c.find(mutexName)
	return []report.Target{
		report.AtMost("round trips a period", mutex[TripsPerPeriod], 100),
		report.AtMost("percent of a core, at the default lease", mutex[CPUPercent], 2),
		report.AtMost("holds lost", mutex[LostHolds], 0),
	}
}
