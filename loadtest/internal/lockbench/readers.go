package lockbench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"inventory/internal/latency"
	"inventory/internal/locking"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/experiment"
)

// fewReaders are those whose unlock is the measure for that of many.
const fewReaders = 10

// manyReaders measures what it costs one reader to unlock and lock again while few or many others read.
func manyReaders(ctx context.Context, b *bench) (all []entrant, done func() error, err error) {
	w, err := openWire(ctx, b.servers.RedisURL, takers)
	if err != nil {
		return nil, nil, err
	}
	locks, err := locking.New(w.rdb)
	if err != nil {
		return nil, nil, errors.Join(err, w.rdb.Close())
	}
	var rooms []*room
	done = func() (err error) {
		for _, r := range rooms {
			err = errors.Join(err, r.release(context.WithoutCancel(ctx)))
		}
		return errors.Join(err, locks.Close(), w.rdb.Close())
	}
	for _, readers := range []int{fewReaders, b.scale.Holds} {
		reader := locks.RWMutex(fmt.Sprint(b.run, "read-by-", readers)).Reader()
		r := &room{keeper: keeper{locker: func(int) locking.Locker { return reader }}}
		rooms = append(rooms, r)
		if _, err := r.take(ctx, w, readers); err != nil {
			return nil, nil, errors.Join(err, done())
		}
		all = append(all, entrant{roomName(readers), true, func(ctx context.Context, _ int) (experiment.Sample, error) {
			return r.play(ctx, w, b.scale.Window)
		}})
	}
	return all, done, nil
}

func roomName(readers int) string {
	return fmt.Sprintf("inventory rwmutex, %s readers", humanize.Comma(int64(readers)))
}

// cost is what it takes to unlock and to lock again.
const cost = "unlock and lock ms"

// room is a lock with readers inside.
type room struct {
	keeper
	visits   int64
	commands int64
	unlocks  *latency.Histogram
	locks    *latency.Histogram
	took     time.Duration
}

// play has one reader after the other go out and in again, for a window of time.
func (r *room) play(ctx context.Context, w *wire, window time.Duration) (experiment.Sample, error) {
	r.visits, r.commands, r.took, r.unlocks, r.locks = 0, 0, 0, latency.New(), latency.New()
	for end := time.Now().Add(window); time.Now().Before(end); {
		if err := r.visit(ctx, w); err != nil {
			return nil, err
		}
	}
	t := &tally{counts: []int64{r.visits}, all: r.visits, waits: r.locks, elapsed: r.took}
	f := t.figures(r.commands)
	f[UnlockP50] = compare.Quantile(r.unlocks, 50)
	f[cost] = f[UnlockP50] + f[WaitP50]
	f[LostHolds] = float64(r.lost())
	return f, nil
}

// visit lets the next reader out and in.
func (r *room) visit(ctx context.Context, w *wire) error {
	i := int(r.visits) % len(r.holds)
	commands, start := w.commands.Load(), time.Now()
	if err := r.holds[i].Unlock(ctx); err != nil {
		return fmt.Errorf("unlock one of many readers: %w", err)
	}
	out := time.Now()
	hold, err := r.locker(i).Lock(ctx)
	if err != nil {
		return fmt.Errorf("lock beside many readers: %w", err)
	}
	in := time.Now()
	r.holds[i] = hold
	r.visits++
	r.commands += w.commands.Load() - commands
	r.unlocks.Record(out.Sub(start))
	r.locks.Record(in.Sub(out))
	r.took += in.Sub(start)
	return nil
}

func manyReadersTargets() []experiment.Target {
	return []experiment.Target{
		atMost("unlock and lock beside many readers, in parts of that beside 10", func(r experiment.Result) experiment.Estimate {
			rooms := r.Case.Contenders
			return experiment.Times(cost, rooms[1].Name, rooms[0].Name)(r)
		}, 2),
		atMost("holds lost", experiment.Total(LostHolds), 0),
	}
}
