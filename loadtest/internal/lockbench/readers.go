package lockbench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/dustin/go-humanize"

	"inventory/internal/latency"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/kinds"
)

// fewReaders are those whose unlock is the measure for that of many.
const fewReaders = 10

// manyReaders measures what it costs one reader to unlock and lock again while few or many others read.
func manyReaders(ctx context.Context, b *bench) (all []experiment.Contender, err error) {
	f, err := openFleet(ctx, entries(b.URLs, kinds.Reader)[0], b.URLs, 1, takers)
	if err != nil {
		return nil, err
	}
	b.OnClose(f.Close)
	for _, readers := range []int{fewReaders, b.Scale.Holds} {
		reader := f.clients[0].Lock(fmt.Sprint(b.run, "read-by-", readers))
		inside := &keeper{fleet: f, lock: func(int) kinds.Lock { return reader }}
		if _, err := b.keep(ctx, inside, readers); err != nil {
			return nil, err
		}
		all = append(all, experiment.Contender{Name: roomName(readers), Ours: true, Play: func(ctx context.Context, _ time.Duration) (experiment.Sample, error) {
			return inside.goAround(ctx, b.Scale.Window)
		}})
	}
	return all, nil
}

func roomName(readers int) string {
	return fmt.Sprintf("inventory rwmutex, %s readers", humanize.Comma(int64(readers)))
}

// cost is what it takes to unlock and to lock again.
const cost = "unlock and lock ms"

// goAround has one of the readers inside after the other go out and in again, for a window of time.
func (k *keeper) goAround(ctx context.Context, window time.Duration) (experiment.Sample, error) {
	t, unlocks := &tally{Counts: make([]int64, 1), Waits: latency.New()}, latency.New()
	before, from := k.meter.Commands.Load(), rand.IntN(len(k.holds))
	for end := time.Now().Add(window); time.Now().Before(end); t.All++ {
		i := (from + int(t.All)) % len(k.holds)
		out, in, err := k.goOutAndIn(ctx, i)
		if err != nil {
			return nil, err
		}
		unlocks.Record(out)
		t.Waits.Record(in)
		t.Elapsed += out + in
		t.Counts[0]++
	}
	t.Commands = k.meter.Commands.Load() - before
	f := t.figures()
	f[UnlockP50] = compare.Quantile(unlocks, 50)
	f[cost] = f[UnlockP50] + f[WaitP50]
	f[LostHolds] = float64(k.lost())
	return f, nil
}

// goOutAndIn lets a reader out and in, and tells how long each took.
func (k *keeper) goOutAndIn(ctx context.Context, i int) (out, in time.Duration, err error) {
	start := time.Now()
	if err := k.holds[i].Unlock(ctx); err != nil {
		return 0, 0, fmt.Errorf("unlock one of many readers: %w", err)
	}
	out = time.Since(start)
	if k.holds[i], err = k.lock(i).Lock(ctx); err != nil {
		return 0, 0, fmt.Errorf("lock beside many readers: %w", err)
	}
	return out, time.Since(start) - out, nil
}
