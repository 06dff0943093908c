package lockbench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

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
func manyHolds(ctx context.Context, b *bench) ([]experiment.Contender, error) {
	kind := entries(b.URLs, mutexName)[0]
	kind.lease = b.Scale.Lease
	f, err := openFleet(ctx, kind, b.URLs, 1, takers)
	if err != nil {
		return nil, err
	}
	b.OnClose(f.Close)
	kept := &keeper{fleet: f, lock: func(i int) kinds.Lock { return f.clients[0].Lock(fmt.Sprint(b.run, "held-", i)) }}
	taken, err := b.keep(ctx, kept, b.Scale.Holds)
	return []experiment.Contender{{Name: mutexName, Ours: true, Play: func(ctx context.Context, _ time.Duration) (experiment.Sample, error) {
		f, err := kept.watch(ctx, b.Scale.Lease/3)
		if err == nil {
			maps.Copy(f, taken) // in the first round
			taken = nil
		}
		return f, err
	}}}, err
}

// keeper keeps locks of ours.
type keeper struct {
	*fleet
	lock func(i int) kinds.Lock

	mu    sync.Mutex
	holds []kinds.Hold
}

// keep takes locks until the case is over, and returns what it is to take one.
func (b *bench) keep(ctx context.Context, k *keeper, locks int) (experiment.Sample, error) {
	b.OnClose(func() error {
		after := context.WithoutCancel(ctx)
		return share(after, len(k.holds), func(i int) error { return k.holds[i].Unlock(after) })
	})
	t := &tally{Waits: latency.New()}
	before, start := k.meter.Commands.Load(), time.Now()
	err := share(ctx, locks, func(i int) error {
		called := time.Now()
		hold, err := k.lock(i).Lock(ctx)
		if err != nil {
			return fmt.Errorf("take one of many locks: %w", err)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		t.Waits.Record(time.Since(called))
		t.All++
		k.holds = append(k.holds, hold)
		return nil
	})
	t.Counts, t.Elapsed, t.Commands = []int64{t.All}, time.Since(start), k.meter.Commands.Load()-before
	return t.figures(), err
}

// share lets takers do something with each of some things, until one fails.
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
		if hold.(*locking.Hold).Context().Err() != nil {
			count++
		}
	}
	return count
}
