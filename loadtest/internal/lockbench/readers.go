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
	"inventory/loadtest/internal/report"
)

// fewReaders are those whose unlock is the measure for that of many.
const fewReaders = 10

// manyReaders measures what it costs one reader to unlock and lock again while few or many others read.
func manyReaders(ctx context.Context, b *bench) (contenders []Contender, err error) {
	w, err := openWire(ctx, b.servers.RedisURL, takers)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.rdb.Close()) }()
	locks, err := locking.New(w.rdb)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, locks.Close()) }()
	var rooms []*room
	s := newSeries()
	for _, readers := range []int{fewReaders, b.scale.Holds} {
		reader := locks.RWMutex(fmt.Sprint(b.run, "read-by-", readers)).Reader()
		r := &room{name: roomName(readers), keeper: keeper{locker: func(int) locking.Locker { return reader }}}
		if _, err := r.take(ctx, w, readers); err != nil {
			return nil, err
		}
		rooms = append(rooms, r)
		s.announce(r.name, true)
	}
	for range b.scale.Rounds {
		if err = b.visitRooms(ctx, w, rooms, s); err != nil {
			break
		}
	}
	for _, r := range rooms {
		err = errors.Join(err, r.release(context.WithoutCancel(ctx)))
	}
	return compareRooms(s.contenders()), err
}

func roomName(readers int) string {
	return fmt.Sprintf("inventory rwmutex, %s readers", humanize.Comma(int64(readers)))
}

// room is a lock with readers inside.
type room struct {
	keeper
	name     string
	visits   int64
	commands int64
	unlocks  *latency.Histogram
	locks    *latency.Histogram
	took     time.Duration
}

// visitRooms measures a round, in which one reader of each room in turn goes out and in again.
func (b *bench) visitRooms(ctx context.Context, w *wire, rooms []*room, s *series) error {
	for _, r := range rooms {
		r.visits, r.commands, r.took, r.unlocks, r.locks = 0, 0, 0, latency.New(), latency.New()
	}
	for end := time.Now().Add(b.scale.Window); time.Now().Before(end); {
		for _, r := range rooms {
			if err := r.visit(ctx, w); err != nil {
				return err
			}
		}
	}
	for _, r := range rooms {
		t := &tally{counts: []int64{r.visits}, all: r.visits, waits: r.locks, elapsed: r.took}
		f := t.figures(r.commands)
		f[UnlockP50] = compare.Milliseconds(r.unlocks.Quantile(50))
		f[LostHolds] = float64(r.lost())
		s.add(r.name, f, "")
	}
	return nil
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

// compareRooms tells how many times as long it takes in each room as in the first.
func compareRooms(contenders []Contender) []Contender {
	cost := func(c Contender) float64 { return c.Figures[UnlockP50] + c.Figures[WaitP50] }
	for _, c := range contenders {
		c.Figures[Ratio] = compare.Ratio(cost(c), cost(contenders[0]))
	}
	return contenders
}

func manyReadersTargets(c Case) []report.Target {
	last := c.Contenders[len(c.Contenders)-1]
	return []report.Target{
		report.AtMost("unlock and lock beside many readers, in parts of that beside 10", last.Figures[Ratio], 2),
		report.AtMost("holds lost", last.Figures[LostHolds], 0),
	}
}
