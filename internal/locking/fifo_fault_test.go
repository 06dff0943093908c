package locking

import (
	"context"
	"errors"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/busytest"
	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// everySide runs a test with each side of each kind of first-come lock.
func everySide(t *testing.T, on place, test func(w *world, of func(l *Locks) *fifo)) {
	t.Helper()
	t.Parallel()
	for kind, of := range map[string]func(l *Locks, name string) *fifo{
		"fair":  func(l *Locks, name string) *fifo { return l.FairMutex(name).fifo },
		"write": func(l *Locks, name string) *fifo { return l.RWMutex(name).writer },
		"read":  func(l *Locks, name string) *fifo { return l.RWMutex(name).reader },
	} {
		t.Run(kind, func(t *testing.T) {
			on(t, func(w *world) {
				test(w, func(l *Locks) *fifo { return of(l, w.name) })
			})
		})
	}
}

// counted returns how many holds an owner has of a side, by the server's lock states.
func (w *world) counted(rdb *redis.Client, f *fifo, h *Hold) string {
	w.t.Helper()
	s, err := f.Inspect(w.ctx())
	w.ok(err)
	for _, holder := range s.Holders {
		if holder.Owner == h.Owner() && holder.Read == (f.side == scripts.Read) {
			return string(rune('0' + holder.Count))
		}
	}
	return ""
}

func TestFifoLateCopyOfACancelledAcquireTakesNothing(t *testing.T) {
	everySide(t, each, func(w *world, of func(l *Locks) *fifo) {
		rdb, ctx := w.client(), w.ctx()
		l, tap := w.tapped()
		f := of(l)
		w.ok(w.must(f.Lock(ctx)).Unlock(ctx)) // the scripts are known now
		for _, arrives := range []bool{false, true} {
			var ghost []any
			begin := time.Now()
			tap.on(scripts.FifoAcquire, func(cmd redis.Cmder, next func() error) error {
				written(cmd)
				ghost = cmd.Args()
				if arrives {
					w.ok(next())
				}
				cmd.SetErr(errLost)
				return errLost
			})
			if h, err := f.Lock(ctx); err == nil || h != nil {
				w.t.Fatal("an error was a grant")
			}
			tap.on(nil, nil)
			w.soon("it is cancelled", func() bool { return w.exists(rdb, ghost[3].(string)) == 1 })
			w.left(rdb, f)
			w.late(rdb, ghost)
			w.left(rdb, f)
			w.lives(rdb, ghost[3].(string), 2*defaultWatchdogLease, begin)
		}
	})
}

func TestFifoLateCopyOfAReleasedAcquireTakesNothing(t *testing.T) {
	everySide(t, each, func(w *world, of func(l *Locks) *fifo) {
		rdb, ctx := w.client(), w.ctx()
		l, tap := w.tapped()
		f := of(l)
		w.ok(w.must(f.Lock(ctx)).Unlock(ctx))
		tap.on(scripts.FifoAcquire, func(cmd redis.Cmder, next func() error) error {
			written(cmd) // once, and then again by the client
			return next()
		})
		h := w.must(f.Lock(ctx))
		tap.on(nil, nil)
		w.ok(h.Unlock(ctx))
		copies := tapArgs(tap, scripts.FifoAcquire)
		w.late(rdb, copies[len(copies)-1])
		w.left(rdb, f)
	})
}

func TestFifoReplayedScriptChangesNothing(t *testing.T) {
	everySide(t, each, func(w *world, of func(l *Locks) *fifo) {
		rdb, ctx := w.client(), WithOwner(w.ctx())
		l, tap := w.tapped()
		f := of(l)
		twice := func(cmd redis.Cmder, next func() error) error {
			written(cmd)
			w.ok(next())
			return next() // the library gets the second answer
		}
		w.ok(w.must(f.Lock(ctx)).Unlock(ctx))
		tap.on(scripts.FifoAcquire, twice)
		outer := w.must(f.Lock(ctx))
		count := func(want string) {
			w.t.Helper()
			if got := w.counted(rdb, f, outer); got != want {
				w.t.Errorf("count %q, want %q", got, want)
			}
		}
		count("1")
		acquires := tapArgs(tap, scripts.FifoAcquire)
		w.late(rdb, acquires[len(acquires)-1])
		count("1")
		tap.on(scripts.FifoRelease, twice)
		w.ok(outer.Unlock(ctx)) // the second answer says that it is not ours; the first one freed it
		count("")
		tap.on(nil, nil)
		next := w.must(f.Lock(ctx)) // of the same owner: old releases must not free what it has locked since
		for _, args := range tapArgs(tap, scripts.FifoRelease) {
			w.late(rdb, args)
		}
		count("1")
		w.ok(next.Unlock(ctx))
	})
}

func TestFifoUnconfirmedReleaseIsRepeated(t *testing.T) {
	everySide(t, each, func(w *world, of func(l *Locks) *fifo) {
		rdb, ctx := w.client(), w.ctx()
		l, tap := w.tapped()
		f := of(l)
		h := w.must(f.Lock(ctx))
		tap.on(scripts.FifoRelease, func(cmd redis.Cmder, _ func() error) error {
			written(cmd)
			cmd.SetErr(errLost)
			return errLost
		})
		tap.mu.Lock()
		tap.lose = 2
		tap.mu.Unlock()
		if err := h.Unlock(ctx); err == nil {
			w.t.Error("the loss was not told")
		}
		w.ok(h.Unlock(ctx))
		w.left(rdb, f)
	})
}

// A waiter whose answers are lost keeps asking, and keeps its position. It takes what a lost answer has granted.
func TestFifoWaiterOutlivesLostAnswers(t *testing.T) {
	everySide(t, each, func(w *world, of func(l *Locks) *fifo) {
		rdb, ctx := w.client(), w.ctx()
		holder := w.locks().RWMutex(w.name).Writer().fifo
		f := of(w.locks())
		if f.wakeKey != holder.wakeKey {
			holder = of(w.locks())
		}
		h := w.must(holder.Lock(ctx))
		l, tap := w.tapped()
		f = of(l)
		lost := make(chan []any, 2)
		var losing, waits atomic.Bool
		tap.on(scripts.FifoAcquire, func(cmd redis.Cmder, next func() error) error {
			err := next()
			if !losing.Load() {
				waits.Store(true) // who has just come would get the error
				return err
			}
			select {
			case lost <- cmd.Args():
				written(cmd)
				cmd.SetErr(errLost)
				return errLost
			default:
				return err
			}
		})
		var ghosts [][]any // requests that may still arrive
		order := w.line(rdb, []*fifo{f}, func(_ int, h *Hold) {
			for range cap(lost) {
				ghosts = append(ghosts, <-lost)
			}
			for _, args := range ghosts {
				w.late(rdb, args)
			}
			if got := w.counted(rdb, f, h); got != "1" {
				w.t.Errorf("count %q", got)
			}
			w.unlocks(0, h)
		})
		w.soon("it waits", waits.Load)
		losing.Store(true) // from now on also the answer to the request under way
		w.ok(h.Unlock(ctx))
		order()
		for _, args := range ghosts {
			w.late(rdb, args)
		}
		w.left(rdb, f)
	})
}

func TestFifoFlushAllIsALoss(t *testing.T) {
	virtual(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		const lease = 600 * time.Millisecond
		l := w.locks(WatchdogLease(lease))
		var holds []*Hold
		for _, f := range []*fifo{l.FairMutex(w.name).fifo, l.RWMutex(w.name + "w").writer, l.RWMutex(w.name + "r").reader} {
			holds = append(holds, w.must(f.Lock(ctx)))
		}
		start := time.Now()
		w.ok(rdb.FlushAll(ctx).Err())
		for _, h := range holds {
			<-h.Context().Done()
			if cause := context.Cause(h.Context()); !errors.Is(cause, ErrLost) || time.Since(start) > lease {
				w.t.Errorf("cause %v after %s", cause, time.Since(start))
			}
			if err := h.Unlock(ctx); !errors.Is(err, ErrLost) {
				w.t.Errorf("unlock: got %v, want ErrLost", err)
			}
			next := w.must(h.one().grant.lock.TryLock(ctx))
			if next.Token() <= h.Token() {
				w.t.Errorf("the token did not grow: got %v, want more than %v", next.Token(), h.Token())
			}
			w.ok(next.Unlock(ctx))
		}
	})
}

// Waiters return to a queue that the server has forgotten.
func TestFifoQueueIsForgotten(t *testing.T) {
	virtual(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		f := w.locks().FairMutex(w.name).fifo
		w.must(f.Lock(ctx))
		order := w.line(rdb, []*fifo{f, w.locks().FairMutex(w.name).fifo}, w.unlocks)
		start := time.Now()
		w.ok(rdb.FlushAll(ctx).Err())
		order()
		if took := time.Since(start); took > 3*policy.Poll {
			w.t.Errorf("both entered after %s", took)
		}
	})
}

func TestFifoRestartOfTheServerIsALoss(t *testing.T) {
	t.Parallel()
	w, server := private(t)
	ctx := w.ctx()
	l := w.locks()
	f := l.FairMutex(w.name).fifo
	h := w.must(f.Lock(ctx))
	w.ok(server.Kill())
	if h, err := l.RWMutex(w.name).Reader().Lock(ctx); err == nil || h != nil || errors.Is(err, ErrBusy) {
		t.Errorf("without a server: %v", err)
	}
	if err := h.Unlock(ctx); err == nil {
		t.Error("unlocked without a server")
	}
	w.ok(server.Restart(ctx))
	w.soon("it works again", func() bool {
		next, err := f.Lock(ctx)
		if err != nil {
			return false
		}
		if next.Token() <= h.Token() {
			t.Errorf("the token did not grow: got %v, want more than %v", next.Token(), h.Token())
		}
		return next.Unlock(ctx) == nil
	})
}

func TestFifoForceUnlockFreesTheLock(t *testing.T) {
	everySide(t, each, func(w *world, of func(l *Locks) *fifo) {
		rdb, ctx := w.client(), w.ctx()
		f, other := of(w.locks()), of(w.locks())
		if freed, err := other.ForceUnlock(ctx); err != nil || freed {
			w.t.Errorf("freed %t, %v", freed, err)
		}
		h := w.must(f.Lock(ctx))
		inner := w.must(f.Lock(h.Context()))
		waits := other
		if f.side == scripts.Read {
			waits = other.locks.RWMutex(w.name).writer
		}
		order := w.line(rdb, []*fifo{waits}, func(_ int, next *Hold) {
			if next.Token() <= h.Token() {
				w.t.Errorf("token %d after %d", next.Token(), h.Token())
			}
			w.unlocks(0, next)
		})
		if freed, err := other.ForceUnlock(ctx); err != nil || !freed {
			w.t.Fatalf("freed %t, %v", freed, err)
		}
		order()
		w.ok(inner.Unlock(ctx)) // not the last one, so it does not ask
		if err := h.Unlock(ctx); !errors.Is(err, ErrLost) {
			w.t.Errorf("unlock: got %v, want ErrLost", err)
		}
		own := w.must(f.Lock(ctx)) // through the Locks that hold it: they learn it at once
		if freed, err := f.ForceUnlock(ctx); err != nil || !freed || !errors.Is(context.Cause(own.Context()), ErrLost) {
			w.t.Errorf("freed %t, %v, cause %v", freed, err, context.Cause(own.Context()))
		}
		w.left(rdb, f)
	})
}

func TestRWForceUnlockTouchesItsOwnSide(t *testing.T) {
	each(t, func(w *world) {
		ctx := w.ctx()
		m, other := w.locks().RWMutex(w.name), w.locks().RWMutex(w.name)
		write := w.must(m.Writer().Lock(ctx))
		read := w.must(m.Reader().Lock(write.Context()))
		if freed, err := other.Reader().ForceUnlock(ctx); !freed || err != nil {
			w.t.Errorf("freed %t, %v", freed, err)
		}
		if err := read.Unlock(ctx); !errors.Is(err, ErrLost) {
			w.t.Errorf("the reader: got %v, want ErrLost", err)
		}
		if _, err := other.Reader().TryLock(ctx); !errors.Is(err, ErrBusy) {
			w.t.Errorf("the writer is gone: got %v, want ErrBusy", err)
		}
		w.ok(write.Unlock(ctx))
	})
}

func TestRWInspectShowsBothSides(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m, other := w.locks().RWMutex(w.name), w.locks().RWMutex(w.name)
		look := func() State {
			w.t.Helper()
			s, err := other.Inspect(ctx)
			w.ok(err)
			return s
		}
		if s := look(); s.Held() || s.Reserved || s.Token != 0 || s.Remaining != 0 || s.Waiting != 0 {
			w.t.Errorf("free: %+v", s)
		}
		begin := time.Now()
		write := w.must(m.Writer().Lock(ctx))
		w.must(m.Reader().Lock(write.Context(), Lease(time.Minute)))
		order := w.line(rdb, []*fifo{other.reader, other.writer}, w.unlocks)
		s := look()
		if len(s.Holders) != 2 || s.Holders[0].Read || !s.Holders[1].Read || s.Token != write.Token() || s.Waiting != 2 {
			w.t.Errorf("written: %+v", s)
		}
		for _, holder := range s.Holders {
			if holder.Owner != write.Owner() || holder.Count != 1 || holder.Remaining <= 0 {
				w.t.Errorf("holder: %+v", holder)
			}
		}
		w.leaves(s.Remaining, time.Minute, begin)
		for _, side := range []*RWSide{m.Reader(), m.Writer()} {
			if _, err := side.ForceUnlock(ctx); err != nil {
				w.t.Error(err)
			}
		}
		order()
	})
}

func TestFifoTokenAboveRaisesTheToken(t *testing.T) {
	everySide(t, each, func(w *world, of func(l *Locks) *fifo) {
		ctx := w.ctx()
		f := of(w.locks())
		h := w.must(f.Lock(ctx))
		other := (*Hold)(nil)
		if f.side == scripts.Read {
			other = w.must(of(w.locks()).Lock(ctx))
		}
		first := h.Token()
		for _, n := range []int64{0, first, first + 10_000_000_000, first + 10_000_000_002} { // the last one would be given next
			token, err := h.TokenAbove(ctx, n)
			if err != nil || token <= n || n < first && token != first || token != h.Token() {
				w.t.Errorf("above %d: %d (%v)", n, token, err)
			}
		}
		inner := w.must(f.Lock(h.Context()))
		if inner.Token() != h.Token() {
			w.t.Errorf("re-entry has %d, and not %d", inner.Token(), h.Token())
		}
		w.ok(inner.Unlock(ctx))
		if other != nil {
			if other.Token() != first {
				w.t.Errorf("another reader's token has changed: got %v, want %v", other.Token(), first)
			}
			w.ok(other.Unlock(ctx))
		}
		last := h.Token()
		w.ok(h.Unlock(ctx))
		if _, err := h.TokenAbove(ctx, 1); !errors.Is(err, ErrLost) {
			w.t.Errorf("of a hold that is over: got %v, want ErrLost", err)
		}
		next := w.must(f.Lock(ctx))
		if next.Token() <= last {
			w.t.Errorf("the token did not grow: got %v, want more than %v", next.Token(), last)
		}
		w.ok(next.Unlock(ctx))
	})
}

// After its token was raised, a reader is still renewed, and so are the others of its phase.
func TestRWReadersAreRenewedUnderTheirOwnTokens(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		l := w.locks()
		m := l.RWMutex(w.name)
		var holds []*Hold
		for range 3 {
			holds = append(holds, w.must(m.Reader().Lock(ctx)))
		}
		if _, err := holds[1].TokenAbove(ctx, holds[1].Token()+1000); err != nil {
			w.t.Error(err)
		}
		soon := float64(time.Now().Add(20 * time.Second).UnixMilli())
		for _, h := range holds {
			w.ok(rdb.ZAddXX(ctx, m.reader.stateKey, redis.Z{Score: soon, Member: h.holder()}).Err())
		}
		if !l.renewDue(busytest.Patience) {
			w.t.Error("no answer")
		}
		for _, h := range holds {
			if expiry := rdb.ZScore(ctx, m.reader.stateKey, h.holder()).Val(); expiry <= soon {
				w.t.Errorf("the reader with token %d expires at %.0f, which was to be put off from %.0f", h.Token(), expiry, soon)
			}
			w.ok(h.Context().Err())
			w.ok(h.Unlock(ctx))
		}
	})
}

// The answer that grants the lock is lost, and then there is no connection until the waiter gives up: what it was granted is
// given back all the same.
func TestFifoWaiterWithoutAConnectionLeavesNothing(t *testing.T) {
	everySide(t, virtual, func(w *world, of func(l *Locks) *fifo) {
		ctx := w.ctx()
		l, tap := w.tapped()
		f, holder := of(l), w.locks().RWMutex(w.name).Writer().fifo
		if f.wakeKey != holder.wakeKey {
			holder = of(holder.locks)
		}
		h := w.must(holder.Lock(ctx))
		var waits, down atomic.Bool
		tap.on(scripts.FifoAcquire, func(cmd redis.Cmder, next func() error) error {
			if !down.Load() {
				err := next()
				if _, token := cmd.(*redis.Cmd).Val().(string); !token {
					waits.Store(true)
					return err
				}
				down.Store(true)
				w.memory.refuseConnections()
			}
			cmd.SetErr(errLost)
			return errLost
		})
		gone := make(chan error, 1)
		go func() {
			_, err := f.Lock(ctx)
			gone <- err
		}()
		w.soon("it waits", waits.Load)
		w.ok(h.Unlock(ctx))
		if err := <-gone; !errors.Is(err, errLost) && !errors.Is(err, syscall.ECONNREFUSED) {
			w.t.Errorf("the waiter got %v", err)
		}
		w.memory.Restart()
		w.ok(w.must(holder.Lock(ctx, Wait(time.Second))).Unlock(ctx))
	})
}
