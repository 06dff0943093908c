package lockbench

import (
	"context"
	"fmt"
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
		r := &room{keeper: keeper{fleet: f, lock: func(int) kinds.Lock { return reader }}}
		if _, err := b.keep(ctx, &r.keeper, readers); err != nil {
			return nil, err
		}
		all = append(all, experiment.Contender{Name: roomName(readers), Ours: true, Play: func(ctx context.Context, _ time.Duration) (experiment.Sample, error) {
			return r.play(ctx, b.Scale.Window)
		}})
	}
	return all, nil
}

func roomName(readers int) string {
	return fmt.Sprintf("inventory rwmutex, %s readers", humanize.Comma(int64(readers)))
}

// cost is what it takes to unlock and to lock again.
const cost = "unlock and lock ms"

// room is a lock with readers inside.
type room struct {
	keeper
	next int
}

// play has one reader after the other go out and in again, for a window of time.
func (r *room) play(ctx context.Context, window time.Duration) (experiment.Sample, error) {
	t, unlocks := &tally{Counts: make([]int64, 1), Waits: latency.New()}, latency.New()
	before := r.meter.Commands.Load()
	for end := time.Now().Add(window); time.Now().Before(end); {
		out, in, err := r.visit(ctx)
		if err != nil {
			return nil, err
		}
		unlocks.Record(out)
		t.Waits.Record(in)
		t.Elapsed += out + in
		t.Counts[0]++
		t.All++
	}
	t.Commands = r.meter.Commands.Load() - before
	f := t.figures()
	f[UnlockP50] = compare.Quantile(unlocks, 50)
	f[cost] = f[UnlockP50] + f[WaitP50]
	f[LostHolds] = float64(r.lost())
	return f, nil
}

// visit lets the next reader out and in, and tells how long each took.
func (r *room) visit(ctx context.Context) (out, in time.Duration, err error) {
	i := r.next % len(r.holds)
	r.next++
	start := time.Now()
	if err := r.holds[i].Unlock(ctx); err != nil {
		return 0, 0, fmt.Errorf("unlock one of many readers: %w", err)
	}
	out = time.Since(start)
	if r.holds[i], err = r.lock(i).Lock(ctx); err != nil {
		return 0, 0, fmt.Errorf("lock beside many readers: %w", err)
	}
	return out, time.Since(start) - out, nil
}
