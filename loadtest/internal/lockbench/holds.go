package lockbench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/sync/errgroup"

	"inventory/internal/latency"
	"inventory/internal/locking"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/gauges"
	"inventory/loadtest/internal/kinds"
)

const (
	// defaultPeriod is that of the watchdog's default lease. The case runs with a shorter lease, and its figures are converted.
	defaultPeriod = 10 * time.Second
	// takers is how many goroutines take the locks that are then held.
	takers = 16
	// periodsWatched is how many periods of the watchdog a round lasts.
	periodsWatched = 2
	// fewReaders are those whose unlock is the measure for that of many.
	fewReaders = 10
	// cost is what it takes to unlock and to lock again.
	cost = "unlock and lock ms"
)

// manyHolds measures what it costs to keep 10,000 locks under the watchdog. What it costs to take them counts in the first round.
func manyHolds(ctx context.Context, b *bench) ([]experiment.Contender, error) {
	kind := entries(b.URLs, mutexName)[0]
	kind.lease = b.Scale.Lease
	f, err := openFleet(ctx, kind, b.URLs, 1, takers)
	if err != nil {
		return nil, err
	}
	b.OnClose(f.Close)
	kept, taken, err := b.keep(ctx, f, b.Scale.Holds, func(i int) kinds.Lock { return f.clients[0].Lock(fmt.Sprint(b.run, "held-", i)) })
	return []experiment.Contender{{Name: mutexName, Ours: true, Play: func(ctx context.Context, _ time.Duration) (experiment.Sample, error) {
		f, err := kept.watch(ctx, b.Scale.Lease/3)
		if err == nil {
			maps.Copy(f, taken)
			taken = nil
		}
		return f, err
	}}}, err
}

// manyReaders measures what it costs one reader to unlock and lock again while few or many others read.
func manyReaders(ctx context.Context, b *bench) (all []experiment.Contender, err error) {
	f, err := openFleet(ctx, entries(b.URLs, kinds.Reader)[0], b.URLs, 1, takers)
	if err != nil {
		return nil, err
	}
	b.OnClose(f.Close)
	for _, readers := range []int{fewReaders, b.Scale.Holds} {
		reader := f.clients[0].Lock(fmt.Sprint(b.run, "read-by-", readers))
		inside, _, err := b.keep(ctx, f, readers, func(int) kinds.Lock { return reader })
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("inventory rwmutex, %s readers", humanize.Comma(int64(readers)))
		all = append(all, experiment.Contender{Name: name, Ours: true, Play: func(ctx context.Context, _ time.Duration) (experiment.Sample, error) {
			return inside.goAround(ctx, b.Scale.Window)
		}})
	}
	return all, nil
}

// keeper has holds of ours.
type keeper struct {
	*fleet
	lock  func(i int) kinds.Lock
	holds []kinds.Hold
}

// keep takes locks until the case is over, and returns what it costs to take one.
func (b *bench) keep(ctx context.Context, f *fleet, locks int, lock func(i int) kinds.Lock) (*keeper, experiment.Sample, error) {
	k, t := &keeper{fleet: f, lock: lock}, &tally{Waits: latency.New()}
	b.OnClose(func() error {
		after := context.WithoutCancel(ctx)
		return share(after, len(k.holds), func(i int) error { return k.holds[i].Unlock(after) })
	})
	var mu sync.Mutex
	before, start := k.meter.Commands.Load(), time.Now()
	err := share(ctx, locks, func(i int) error {
		called := time.Now()
		hold, err := lock(i).Lock(ctx)
		if err != nil {
			return fmt.Errorf("take one of many locks: %w", err)
		}
		mu.Lock()
		defer mu.Unlock()
		t.Waits.Record(time.Since(called))
		t.All++
		k.holds = append(k.holds, hold)
		return nil
	})
	t.Counts, t.Elapsed, t.Commands = []int64{t.All}, time.Since(start), k.meter.Commands.Load()-before
	return k, t.figures(), err
}

// share has takers do something with each of some things, until one fails.
func share(ctx context.Context, things int, do func(thing int) error) error {
	all, failed := errgroup.WithContext(ctx)
	all.SetLimit(takers)
	for thing := 0; thing < things && failed.Err() == nil; thing++ {
		all.Go(func() error { return do(thing) })
	}
	return errors.Join(all.Wait(), ctx.Err())
}

// watch measures some periods of the watchdog.
func (k *keeper) watch(ctx context.Context, period time.Duration) (experiment.Sample, error) {
	trips, start := k.meter.Trips.Load(), time.Now()
	before, err := gauges.OwnCPU(ctx)
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, periodsWatched*period); err != nil {
		return nil, err
	}
	after, err := gauges.OwnCPU(ctx)
	periods := float64(time.Since(start)) / float64(period)
	used := float64(after-before) / periods // in a period
	return experiment.Sample{
		TripsPerPeriod:   float64(k.meter.Trips.Load()-trips) / periods,
		CPUPercent:       100 * used / float64(defaultPeriod),
		MicrosPerRenewal: used / float64(time.Microsecond) / float64(len(k.holds)),
		LostHolds:        float64(k.lost()),
	}, err
}

// lost counts the holds that were lost.
func (k *keeper) lost() (count int) {
	for _, hold := range k.holds {
		if hold.(*locking.Hold).Context().Err() != nil {
			count++
		}
	}
	return count
}

// goAround has one reader after the other unlock and lock again, for a window.
func (k *keeper) goAround(ctx context.Context, window time.Duration) (experiment.Sample, error) {
	t, unlocks := &tally{Counts: make([]int64, 1), Waits: latency.New()}, latency.New()
	before := k.meter.Commands.Load()
	for i, end := rand.IntN(len(k.holds)), time.Now().Add(window); time.Now().Before(end); i = (i + 1) % len(k.holds) {
		start := time.Now()
		if err := k.holds[i].Unlock(ctx); err != nil {
			return nil, fmt.Errorf("unlock one of many readers: %w", err)
		}
		out := time.Since(start)
		hold, err := k.lock(i).Lock(ctx)
		if err != nil {
			return nil, fmt.Errorf("lock beside many readers: %w", err)
		}
		k.holds[i] = hold
		both := time.Since(start)
		unlocks.Record(out)
		t.Waits.Record(both - out)
		t.Elapsed += both
		t.Counts[0]++
		t.All++
	}
	t.Commands = k.meter.Commands.Load() - before
	f := t.figures()
	f[UnlockP50] = compare.Quantile(unlocks, 50)
	f[cost] = f[UnlockP50] + f[WaitP50]
	f[LostHolds] = float64(k.lost())
	return f, nil
}

// pause waits. It returns an error if ctx ends before.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
