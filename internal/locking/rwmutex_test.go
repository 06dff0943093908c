package locking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

func TestRWReadersShareAndWritersDoNot(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m, other := w.locks().RWMutex(w.name), w.locks().RWMutex(w.name)
		first, second := w.must(m.Reader().Lock(ctx)), w.must(other.Reader().TryLock(ctx))
		if first.Token() != second.Token() {
			w.t.Errorf("two tokens in one phase: got %v, want %v", first.Token(), second.Token())
		}
		for _, writer := range []*RWSide{m.Writer(), other.Writer()} {
			if _, err := writer.TryLock(ctx); !errors.Is(err, ErrBusy) {
				w.t.Errorf("a writer beside readers: got %v, want ErrBusy", err)
			}
		}
		w.ok(first.Unlock(ctx))
		if _, err := m.Writer().TryLock(ctx); !errors.Is(err, ErrBusy) {
			w.t.Errorf("a writer beside one reader: got %v, want ErrBusy", err)
		}
		w.ok(second.Unlock(ctx))
		writer := w.must(m.Writer().TryLock(ctx))
		if writer.Token() <= first.Token() {
			w.t.Errorf("the writer's token is not above the readers': got %v, want more than %v", writer.Token(), first.Token())
		}
		for _, side := range []*RWSide{other.Reader(), other.Writer()} {
			if _, err := side.TryLock(ctx); !errors.Is(err, ErrBusy) {
				w.t.Errorf("beside a writer: got %v, want ErrBusy", err)
			}
		}
		w.ok(writer.Unlock(ctx))
		reader := w.must(m.Reader().TryLock(ctx))
		if reader.Token() <= writer.Token() {
			w.t.Errorf("the readers' token is not above the writer's: got %v, want more than %v", reader.Token(), writer.Token())
		}
		w.ok(reader.Unlock(ctx))
		w.left(rdb, m.writer)
	})
}

func TestRWLockIsReentrantOnBothSides(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m, other := w.locks().RWMutex(w.name), w.locks().RWMutex(w.name)
		outer := w.must(m.Reader().Lock(ctx))
		order := w.line(rdb, []*fifo{other.writer}, w.unlocks)
		inner := w.must(m.Reader().Lock(outer.Context())) // not behind the writer: otherwise it would wait for itself
		if inner.Token() != outer.Token() || m.Reader().Count(inner.Context()) != 2 || m.Writer().Count(inner.Context()) != 0 {
			w.t.Errorf("token %d in %d, count %d", inner.Token(), outer.Token(), m.Reader().Count(inner.Context()))
		}
		w.ok(inner.Unlock(ctx))
		if w.waiting(rdb, m.writer) != 1 {
			w.t.Error("after one of two unlocks the writer has entered")
		}
		w.ok(outer.Unlock(ctx))
		order()
		w.left(rdb, m.writer)
	})
}

func TestRWReaderWaitsBehindAnEarlierWriter(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m, other := w.locks().RWMutex(w.name), w.locks().RWMutex(w.name)
		reader := w.must(m.Reader().Lock(ctx))
		var inside, most atomic.Int32
		enter := func(i int, h *Hold) {
			n := inside.Add(1)
			most.Store(max(most.Load(), n))
			if i == 0 || i == 3 { // the writers
				if n != 1 {
					w.t.Errorf("writer %d enters as one of %d", i, n)
				}
			}
			inside.Add(-1)
			w.unlocks(0, h)
		}
		order := w.line(rdb, []*fifo{other.writer, m.reader, other.reader, m.writer, other.reader}, enter)
		if _, err := m.Reader().TryLock(ctx); !errors.Is(err, ErrBusy) {
			w.t.Errorf("it overtakes a writer: got %v, want ErrBusy", err)
		}
		w.ok(reader.Unlock(ctx))
		got := order()
		if len(got) != 5 || got[0] != 0 || got[3] != 3 || got[4] != 4 {
			w.t.Errorf("entered in the order %v", got)
		}
		w.left(rdb, m.writer)
	})
}

func TestRWBlockedReadersEnterTogether(t *testing.T) {
	each(t, func(w *world) {
		const many = 20
		rdb, ctx := w.client(), w.ctx()
		m := w.locks().RWMutex(w.name)
		processes := []*RWMutex{m, w.locks().RWMutex(w.name), w.locks().RWMutex(w.name)}
		writer := w.must(m.Writer().Lock(ctx))
		var line []*fifo
		for i := range many {
			line = append(line, processes[i%len(processes)].reader)
		}
		var inside sync.WaitGroup
		inside.Add(many)
		var mu sync.Mutex
		tokens := make(map[int64]bool)
		order := w.line(rdb, line, func(_ int, h *Hold) {
			mu.Lock()
			tokens[h.Token()] = true
			mu.Unlock()
			inside.Done()
			inside.Wait() // until all are
			w.unlocks(0, h)
		})
		w.ok(writer.Unlock(ctx))
		order()
		if len(tokens) != 1 {
			w.t.Errorf("%d tokens in one phase", len(tokens))
		}
		w.left(rdb, m.writer)
	})
}

func TestRWWriterBecomesAReader(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m, other := w.locks().RWMutex(w.name), w.locks().RWMutex(w.name)
		write := w.must(m.Writer().Lock(ctx))
		read := w.must(m.Reader().Lock(write.Context()))
		w.ok(read.Unlock(ctx))
		if _, err := other.Reader().TryLock(ctx); !errors.Is(err, ErrBusy) {
			w.t.Errorf("unlocking the inner read has freed the outer write: got %v, want ErrBusy", err)
		}
		read = w.must(m.Reader().Lock(write.Context()))
		if read.Token() <= write.Token() {
			w.t.Errorf("the reader's token is not above the writer's: got %v, want more than %v", read.Token(), write.Token())
		}
		entered := make(chan *Hold, 3)
		order := w.line(rdb, []*fifo{other.reader, other.reader, other.writer, other.reader}, func(_ int, h *Hold) {
			entered <- h
			if h.one().grant.lock == &other.writer.lock {
				w.unlocks(0, h)
			}
		})
		w.ok(write.Unlock(ctx))
		first, second := <-entered, <-entered
		if first.Token() != read.Token() || second.Token() != read.Token() {
			w.t.Error("the readers are not of the downgraded writer's phase")
		}
		w.ok(first.Unlock(ctx))
		w.ok(second.Unlock(ctx))
		if _, err := m.Writer().TryLock(read.Context()); !errors.Is(err, ErrUpgrade) {
			w.t.Errorf("who has downgraded reads only: got %v, want ErrUpgrade", err)
		}
		if _, err := m.Writer().TryLock(ctx); !errors.Is(err, ErrBusy) {
			w.t.Errorf("a writer enters before the read is released: got %v, want ErrBusy", err)
		}
		if w.waiting(rdb, m.writer) != 2 || read.Context().Err() != nil {
			w.t.Error("somebody has entered behind the writer")
		}
		w.ok(read.Unlock(ctx))
		w.ok((<-entered).Unlock(ctx)) // the writer's; a second one does nothing
		w.ok((<-entered).Unlock(ctx))
		if got := order(); got[2] != 2 || got[3] != 3 {
			w.t.Errorf("entered in the order %v", got)
		}
		w.left(rdb, m.writer)
	})
}

func TestRWUpgradeIsRefused(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m, other := w.locks().RWMutex(w.name), w.locks().RWMutex(w.name)
		ctx = WithOwner(ctx)
		read := w.must(m.Reader().Lock(ctx))
		for _, err := range []error{
			second(m.Writer().TryLock(read.Context())),
			second(m.Writer().Lock(read.Context())),
			second(MultiLock(m.Writer()).Lock(read.Context())),
		} {
			if !errors.Is(err, ErrUpgrade) {
				w.t.Error(err)
			}
		}
		w.ok(read.Unlock(ctx))

		// An owner that waits to write, and gets the read lock meanwhile, would wait for ever.
		blocker := w.must(other.Reader().Lock(w.ctx()))
		failed := make(chan error)
		go func() { failed <- second(m.Writer().Lock(ctx)) }()
		w.soon("it queues", func() bool { return w.waiting(rdb, m.writer) == 1 })
		reads := make(chan *Hold)
		go func() { reads <- w.must(m.Reader().Lock(ctx)) }()
		w.soon("both queue", func() bool { return w.waiting(rdb, m.writer) == 2 })
		w.ok(blocker.Unlock(ctx))
		err := <-failed // or the writer comes first, and reads too
		if err != nil && !errors.Is(err, ErrUpgrade) {
			w.t.Error(err)
		}
		w.ok((<-reads).Unlock(ctx))
	})
}

func second(_ *Hold, err error) error { return err }

// A writer waits for the longest lease of the readers, and not longer, in virtual time.
func TestRWWriterWaitsForTheLongestLeaseOfTheReaders(t *testing.T) {
	virtual(t, func(w *world) {
		const long, short = 900 * time.Millisecond, 300 * time.Millisecond
		ctx := w.ctx()
		start := time.Now()
		m := w.locks().RWMutex(w.name)
		longer := w.must(m.Reader().Lock(ctx, Lease(long)))
		shorter := w.must(m.Reader().Lock(ctx, Lease(short)))
		writer := w.must(w.locks().RWMutex(w.name).Writer().Lock(ctx))
		if took := time.Since(start); took < long || took > long+700*time.Millisecond {
			w.t.Errorf("admitted after %s", took)
		}
		for _, stale := range []*Hold{longer, shorter} {
			<-stale.Context().Done()
			if err := stale.Unlock(ctx); !errors.Is(err, ErrLost) || !errors.Is(context.Cause(stale.Context()), ErrLost) {
				w.t.Errorf("the stale unlock: %v", err)
			}
		}
		w.ok(writer.Unlock(ctx))
	})
}

func TestRWShorterInnerLeaseDoesNotShortenTheOuter(t *testing.T) {
	virtual(t, func(w *world) {
		const short = 300 * time.Millisecond
		rdb, ctx := w.client(), w.ctx()
		m := w.locks().RWMutex(w.name)
		for _, side := range []*RWSide{m.Reader(), m.Writer()} {
			outer := w.must(side.Lock(ctx))
			inner := w.must(side.Lock(outer.Context(), Lease(short)))
			<-inner.Context().Done()
			w.ok(outer.Context().Err())
			if ttl := rdb.PTTL(ctx, side.stateKey).Val(); ttl < 25*time.Second {
				w.t.Errorf("a shorter lease has shortened the lock to %s", ttl)
			}
			if err := inner.Unlock(ctx); !errors.Is(err, ErrLost) {
				w.t.Errorf("unlock of the lapsed one: got %v, want ErrLost", err)
			}
			long := w.must(side.Lock(outer.Context(), Lease(time.Hour)))
			w.ok(long.Unlock(ctx))
			w.ok(outer.Unlock(ctx))
		}
	})
}

func TestRWLapsedWriterAdmitsAllReaders(t *testing.T) {
	virtual(t, func(w *world) {
		const many, lease = 10, 400 * time.Millisecond
		rdb, ctx := w.client(), w.ctx()
		m := w.locks().RWMutex(w.name)
		w.must(w.locks().RWMutex(w.name).Writer().Lock(ctx))
		var inside sync.WaitGroup
		inside.Add(many)
		wait := w.line(rdb, slices.Repeat([]*fifo{m.reader}, many), func(_ int, h *Hold) {
			inside.Done()
			inside.Wait()
			w.unlocks(0, h)
		})
		w.ok(rdb.PExpire(ctx, m.writer.stateKey, lease).Err()) // all are in the queue; now its lease may run out
		start := time.Now()
		wait()
		if took := time.Since(start); took < lease-50*time.Millisecond || took > lease+3*policy.Poll {
			w.t.Errorf("admitted after %s", took)
		}
	})
}

func TestRWNamesOfAnyBytesAreLocksOfTheirOwn(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		l := w.locks()
		var holds []*Hold
		for _, name := range []string{"}:rw:x", "{", "a{b}c", "r:x", "x", "\x00\xff ", ":"} {
			m := l.RWMutex(w.name + name)
			for _, lock := range []Locker{l.FairMutex(w.name + name), m.Writer(), l.Mutex(w.name + name)} { // other kinds are other locks
				holds = append(holds, w.must(lock.TryLock(ctx)))
			}
			reader := w.must(m.Reader().TryLock(holds[len(holds)-2].Context()))
			order := w.line(rdb, []*fifo{w.locks().RWMutex(w.name + name).writer}, w.unlocks)
			w.ok(holds[len(holds)-2].Unlock(ctx))
			w.ok(reader.Unlock(ctx))
			order()
		}
		for _, h := range holds {
			w.ok(h.Unlock(ctx))
		}
	})
}

func TestRWLockExcludesWritersFromEverybody(t *testing.T) {
	each(t, func(w *world) {
		const processes, callers, rounds = 3, 4, 8
		ctx := w.ctx()
		counter, last, writers := 0, int64(0), 0 // not atomic: the lock is all that guards them
		var readers atomic.Int32
		var mu sync.Mutex
		reading := make(map[int64]bool)
		var wg sync.WaitGroup
		for p := range processes {
			m := w.locks().RWMutex(w.name)
			for c := range callers {
				wg.Go(func() {
					for r := range rounds {
						if (p+c+r)%3 == 0 {
							h, err := m.Writer().Lock(ctx)
							if err != nil {
								w.t.Error(err)
								return
							}
							counter++
							if h.Token() <= last || readers.Load() != 0 {
								w.t.Errorf("token %d after %d, %d readers", h.Token(), last, readers.Load())
							}
							mu.Lock()
							if reading[h.Token()] {
								w.t.Error("readers had the writer's token")
							}
							mu.Unlock()
							last = h.Token()
							writers++
							w.unlocks(0, h)
							continue
						}
						h, err := m.Reader().Lock(ctx)
						if err != nil {
							w.t.Error(err)
							return
						}
						readers.Add(1)
						if h.Token() <= last { // the race detector reports it if a writer writes meanwhile
							w.t.Errorf("token %d after a writer's %d", h.Token(), last)
						}
						mu.Lock()
						reading[h.Token()] = true
						mu.Unlock()
						readers.Add(-1)
						w.unlocks(0, h)
					}
				})
			}
		}
		wg.Wait()
		if counter != writers || counter == 0 {
			w.t.Errorf("%d entries of %d writers", counter, writers)
		}
		w.left(w.client(), w.locks().RWMutex(w.name).writer)
	})
}

// A MultiLock takes the writing side of a lock before its reading side, whatever the order of the arguments: a reader
// cannot become a writer.
func TestRWSidesHaveAnOrder(t *testing.T) {
	each(t, func(w *world) {
		rw := w.locks().RWMutex(w.name)
		w.ok(w.must(MultiLock(rw.Reader(), rw.Writer()).TryLock(w.ctx())).Unlock(w.ctx()))
		w.ok(w.must(MultiLock(rw.Writer(), rw.Reader()).TryLock(w.ctx())).Unlock(w.ctx()))
	})
}

func TestRWSidesArePartsOfAMultiLock(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		l := w.locks()
		a, b := l.RWMutex(w.name+"a"), l.RWMutex(w.name+"b")
		fair, plain := l.FairMutex(w.name), l.Mutex(w.name)
		all := MultiLock(b.Reader(), fair, a.Writer(), plain, a.Reader(), fair)
		h := w.must(all.Lock(ctx))
		for i, lock := range []*lock{&b.reader.lock, &fair.lock, &a.writer.lock, &plain.lock, &a.reader.lock, &fair.lock} {
			if h.Parts()[i].one().grant.lock != lock {
				w.t.Errorf("part %d is of %s", i, h.Parts()[i].one().grant.lock.stateKey)
			}
		}
		if fair.Count(h.Context()) != 2 || a.Writer().Count(h.Context()) != 1 || a.Reader().Count(h.Context()) != 1 {
			w.t.Error("the parts are not counted")
		}
		again := w.must(fair.TryLock(h.Context()))
		w.ok(again.Unlock(ctx))
		for _, taken := range []Locker{fair, a.Reader(), plain, b.Writer()} {
			if _, err := taken.TryLock(ctx); !errors.Is(err, ErrBusy) {
				w.t.Errorf("%s: got %v, want ErrBusy", taken.Name(), err)
			}
		}
		if _, err := MultiLock(plain, b.Reader(), a.Reader()).TryLock(ctx); !errors.Is(err, ErrBusy) {
			w.t.Errorf("a rival: got %v, want ErrBusy", err)
		}
		w.ok(w.must(b.Reader().TryLock(ctx)).Unlock(ctx)) // what the rival took was given back
		w.ok(h.Unlock(ctx))
		for _, f := range []*fifo{a.writer, b.writer, fair.fifo} {
			w.left(rdb, f)
		}

		// Two owners that take the sides of two locks crosswise do not deadlock.
		var wg sync.WaitGroup
		for _, parts := range [][]Locker{{a.Writer(), b.Reader()}, {b.Writer(), a.Reader()}, {fair, a.Writer()}, {a.Reader(), fair}} {
			wg.Go(func() {
				for range 10 {
					h, err := MultiLock(parts...).Lock(ctx)
					if err != nil {
						w.t.Error(err)
						return
					}
					w.unlocks(0, h)
				}
			})
		}
		wg.Wait()
	})
}

// A read unlock must not go through all readers: beside many it takes no longer than beside a few, which is the control. The two
// locks take turns, and the quickest unlock of each counts, so that other work of the machine does not.
func TestRWUnlockDoesNotGoThroughAllReaders(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	w, _ := private(t)
	rdb := w.client()
	ctx, step := w.steps()
	few, many := w.locks().RWMutex(w.name+" few"), w.locks().RWMutex(w.name+" many")
	unlock := func(m *RWMutex) time.Duration {
		h := w.must(m.Reader().Lock(ctx))
		start := time.Now()
		w.ok(h.Unlock(ctx))
		step()
		return time.Since(start)
	}
	readers := func(m *RWMutex, n int) {
		unlock(m) // the scripts are known now
		pipe := rdb.Pipeline()
		d := &desk{world: w, rdb: rdb, keys: m.reader.byRole()}
		for i := range n {
			d.attempts++
			who := fmt.Sprint("P:", i)
			pipe.EvalSha(ctx, scripts.FifoAcquire.Hash.(string), d.list(), "P", d.attempts, "read", who, time.Hour.Milliseconds(), 1, "", "", "n", "", policy.WaiterLifeMS, policy.PollMS)
		}
		_, err := pipe.Exec(ctx)
		w.ok(err)
		step()
		if got := rdb.ZCard(ctx, m.reader.stateKey).Val(); got != int64(n) {
			t.Fatalf("%d readers", got)
		}
	}
	readers(few, 10)
	readers(many, 10000)
	quickest, control := unlock(many), unlock(few)
	for range 200 {
		quickest, control = min(quickest, unlock(many)), min(control, unlock(few))
	}
	if quickest > 2*control {
		t.Errorf("an unlock takes %s beside 10,000 readers, and %s beside 10", quickest, control)
	}
}

// Readers come and go while a writer waits in between: none starves. The test runs in virtual time.
func TestRWWriterEntersWhileReadersComeAndGo(t *testing.T) {
	virtual(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m := w.locks().RWMutex(w.name)
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range 4 {
			f := w.locks().RWMutex(w.name)
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					h, err := f.Reader().Lock(ctx)
					if err != nil {
						w.t.Error(err)
						return
					}
					w.unlocks(0, h)
				}
			})
		}
		start := time.Now()
		for range 5 {
			w.ok(w.must(m.Writer().Lock(ctx)).Unlock(ctx))
		}
		if took := time.Since(start); took > 3*time.Second {
			w.t.Errorf("five turns of the writer took %s", took)
		}
		close(stop)
		wg.Wait()
		w.left(rdb, m.writer)
	})
}
