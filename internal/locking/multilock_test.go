package locking

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/busytest"
	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// segments returns n locks of one group.
func (w *world) segments(l *Locks, n int) []*Mutex {
	all := make([]*Mutex, n)
	for i := range all {
		all[i] = l.Mutex(fmt.Sprintf("%s/%d", w.name, i), Group(w.name))
	}
	return all
}

// lockers returns mutexes as Lockers.
func lockers(all []*Mutex) []Locker {
	parts := make([]Locker, len(all))
	for i, m := range all {
		parts[i] = m
	}
	return parts
}

func TestMultiLockTakesAllItsParts(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		l, tap := w.tapped()
		parts := w.segments(l, 4)
		slices.Reverse(parts)
		rival := w.locks()
		for range 2 {
			h := w.must(MultiLock(lockers(parts)...).Lock(ctx))
			if h.Token() != 0 || len(h.Parts()) != 4 {
				w.t.Errorf("token %d, %d parts", h.Token(), len(h.Parts()))
			}
			for i, part := range h.Parts() {
				if token := rdb.HGet(ctx, parts[i].stateKey, "token").Val(); token != fmt.Sprint(part.Token()) {
					w.t.Errorf("part %d has token %d, the server says %s", i, part.Token(), token)
				}
				if rdb.HGet(ctx, parts[i].stateKey, h.holder()).Val() != "1" {
					w.t.Errorf("part %d is not held", i)
				}
			}
			if _, err := MultiLock(lockers(w.segments(rival, 4))...).TryLock(ctx); !errors.Is(err, ErrBusy) {
				w.t.Errorf("the rival: got %v, want ErrBusy", err)
			}
			w.ok(h.Unlock(ctx))
			w.ok(h.Unlock(ctx))
			for _, m := range parts {
				if w.exists(rdb, m.stateKey, m.queueKey) != 0 {
					w.t.Errorf("%s is left", m.name)
				}
			}
		}
		// The first round may have sent each script twice, by its hash and in full.
		if n, m := len(tapArgs(tap, scripts.Acquire)), len(tapArgs(tap, scripts.Release)); n != 2 || m != 2 {
			w.t.Errorf("%d acquisitions and %d releases for 2 cycles", n, m)
		}
	})
}

func TestMultiLockRollsBack(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		l := w.locks()
		parts := w.segments(l, 3)
		far := l.Mutex(w.name + "elsewhere")
		for i, m := range append(parts, far) {
			blocker := w.must(m.Lock(ctx))
			all := MultiLock(append(lockers(parts), far)...)
			for _, wait := range []time.Duration{0, 50 * time.Millisecond} {
				if _, err := w.refused(func() (*Hold, error) { return all.Lock(ctx, Wait(wait)) }); !errors.Is(err, ErrBusy) {
					w.t.Errorf("part %d busy: got %v, want ErrBusy", i, err)
				}
			}
			if _, err := all.TryLock(ctx); !errors.Is(err, ErrBusy) {
				w.t.Errorf("part %d busy: got %v, want ErrBusy", i, err)
			}
			for j, other := range append(parts, far) {
				if i != j { // long before its lease is over
					w.soon(fmt.Sprintf("part %d is given back when %d is busy", j, i), func() bool { return w.exists(rdb, other.stateKey) == 0 })
				}
			}
			w.soon("no queue is left", func() bool { return w.exists(rdb, m.queueKey) == 0 })
			w.ok(blocker.Unlock(ctx))
		}
	})
}

func TestMultiLockRollsBackOnErrors(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		l, tap := w.tapped()
		parts := []Locker{l.Mutex(w.name + "a"), l.Mutex(w.name + "b"), l.Mutex(w.name + "c")}
		n := 0
		tap.on(scripts.Acquire, func(cmd redis.Cmder, next func() error) error {
			if n++; n < 3 {
				return next()
			}
			written(cmd)
			w.ok(next())
			cmd.SetErr(errLost)
			return errLost
		})
		if _, err := MultiLock(parts...).Lock(ctx); err == nil {
			w.t.Error("an error was a grant")
		}
		w.soon("nothing is left", func() bool {
			return w.exists(rdb, parts[0].(*Mutex).stateKey, parts[1].(*Mutex).stateKey, parts[2].(*Mutex).stateKey) == 0
		})
	})
}

func TestOppositeMultiLocksDoNotDeadlock(t *testing.T) {
	each(t, func(w *world) {
		ctx := w.ctx()
		counter := 0
		var wg sync.WaitGroup
		for i := range 6 {
			l := w.locks()
			parts := append(w.segments(l, 3), l.Mutex(w.name+"x"), l.Mutex(w.name+"y"))
			if i%2 == 1 {
				slices.Reverse(parts)
			}
			wg.Go(func() {
				for range 5 {
					h, err := MultiLock(lockers(parts)...).Lock(ctx)
					if err != nil {
						w.t.Error(err)
						return
					}
					counter++
					w.ok(h.Unlock(ctx))
				}
			})
		}
		wg.Wait()
		if counter != 30 {
			w.t.Errorf("%d entries", counter)
		}
	})
}

// A Locker whose hold belongs to a MultiLock is released with the whole hold.
func TestMultiLockReleasesTheHoldOfAnotherLocker(t *testing.T) {
	virtual(t, func(w *world) {
		parts := w.segments(w.locks(), 3)
		h := w.must(MultiLock(foreign{Locker: MultiLock(parts[0], parts[1])}, parts[2]).Lock(w.ctx()))
		w.ok(h.Unlock(w.ctx()))
		for _, part := range parts {
			if w.exists(w.client(), part.stateKey) != 0 {
				w.t.Errorf("%s is still held", part.Name())
			}
		}
	})
}

func TestMultiLockNeverWaitsBackwards(t *testing.T) {
	virtual(t, func(w *world) {
		rdb := w.client()
		l := w.locks()
		parts := w.segments(l, 8)
		busy := w.must(w.segments(w.locks(), 8)[3].Lock(w.ctx())) // of another process
		ctx := WithOwner(w.ctx())
		h := w.must(parts[7].Lock(ctx))
		start := time.Now()
		if _, err := MultiLock(parts[2], parts[3], parts[7]).Lock(h.Context()); !errors.Is(err, ErrBusy) {
			w.t.Errorf("backwards: got %v, want ErrBusy", err)
		}
		if took := time.Since(start); took > policy.Poll/2 {
			w.t.Errorf("it has waited for %s", took)
		}
		if w.exists(rdb, parts[2].stateKey) != 0 || rdb.HGet(ctx, parts[7].stateKey, h.holder()).Val() != "1" {
			w.t.Error("the roll-back is not right")
		}
		w.ok(h.Unlock(ctx))
		early := w.must(parts[1].Lock(ctx)) // a part that comes earlier is no reason not to wait
		done := make(chan error, 1)
		go func() {
			h, err := MultiLock(parts[2], parts[3]).Lock(early.Context())
			if err == nil {
				err = h.Unlock(ctx)
			}
			done <- err
		}()
		w.soon("it is queued", func() bool { return w.queued(rdb, parts[3]) == 1 })
		w.ok(busy.Unlock(ctx))
		w.ok(<-done)
	})
}

// Two servers without an address do not show which of two locks of one name is first: a MultiLock waits for neither
// while it holds the other.
func TestMultiLockDoesNotWaitBetweenServersWithoutAnAddress(t *testing.T) {
	virtual(t, func(w *world) {
		ctx := w.ctx()
		at := func(db int) *Mutex {
			return w.locksOn(opaque{w.client(func(o *redis.Options) { o.DB = db })}).Mutex(w.name)
		}
		a, b := at(1), at(2)
		for _, parts := range [][]Locker{{a, b}, {b, a}} {
			busy := w.must(parts[1].Lock(ctx))
			start := time.Now()
			if _, err := MultiLock(parts...).Lock(ctx, Wait(2*policy.Poll)); !errors.Is(err, ErrBusy) {
				w.t.Error(err)
			}
			if took := time.Since(start); took > policy.Poll/2 {
				w.t.Errorf("it has waited for %s", took)
			}
			w.ok(busy.Unlock(ctx))
			h := w.must(MultiLock(parts...).Lock(ctx))
			w.ok(w.must(MultiLock(parts...).Lock(h.Context())).Unlock(ctx))
			w.ok(h.Unlock(ctx))
		}
	})
}

// never is a Locker that must not be waited for.
type never struct {
	foreign
	w *world
}

func (n never) Lock(context.Context, ...LockOption) (*Hold, error) {
	n.w.t.Error("it was waited for")
	return nil, ErrBusy
}

// Nor does it wait backwards for a lock that the library does not know, which is placed by its name.
func TestMultiLockNeverWaitsBackwardsForLockers(t *testing.T) {
	each(t, func(w *world) {
		l := w.locks()
		late := w.must(l.Mutex(w.name + "a").Lock(w.ctx()))
		early := never{foreign{Locker: w.locks().Mutex(w.name)}, w}
		if early.Name() > late.one().grant.lock.order {
			w.t.Fatal("it comes later")
		}
		w.ok(w.must(MultiLock(early).Lock(late.Context())).Unlock(w.ctx()))
	})
}

// A lock that the library does not know gets the server's time bound.
func TestMultiLockPassesItsWaitToLockers(t *testing.T) {
	virtual(t, func(w *world) {
		l := w.locks()
		held := w.must(l.Mutex(w.name + "later").Lock(w.ctx())) // the MultiLock waits for no other part meanwhile
		part := MultiLock(foreign{Locker: l.Mutex(w.name)})
		w.memory.Pause()
		for name, lock := range map[string]func(context.Context, ...LockOption) (*Hold, error){"TryLock": part.TryLock, "Lock": part.Lock} {
			start := time.Now()
			if _, err := lock(held.Context(), Wait(100*time.Millisecond)); !errors.Is(err, ErrNoAnswer) {
				w.t.Errorf("%s: got %v, want ErrNoAnswer", name, err)
			}
			if took := time.Since(start); took > 200*time.Millisecond {
				w.t.Errorf("%s took %s", name, took)
			}
		}
	})
}

// counted is a Mutex with a Lock of its own.
type counted struct {
	*Mutex
	taken int
}

func (c *counted) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	c.taken++
	return c.Mutex.Lock(ctx, opts...)
}

func TestMultiLockCallsTheLockOfALockerWithAMutexInside(t *testing.T) {
	virtual(t, func(w *world) {
		part := &counted{Mutex: w.locks().Mutex(w.name)}
		w.ok(w.must(MultiLock(part).Lock(w.ctx())).Unlock(w.ctx()))
		if part.taken != 1 {
			w.t.Errorf("its Lock was called %d times", part.taken)
		}
	})
}

func TestMultiLockMayNameALockTwice(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		l := w.locks()
		m, other := l.Mutex(w.name), l.Mutex(w.name)
		h := w.must(MultiLock(m, other, m).Lock(ctx))
		if n := h.Count(); n != 3 {
			w.t.Errorf("count %d", n)
		}
		inner := w.must(MultiLock(m, m).Lock(h.Context()))
		if n := h.Count(); n != 5 {
			w.t.Errorf("count %d", n)
		}
		if inner.Parts()[1].Token() != h.Parts()[0].Token() {
			w.t.Errorf("re-entry has another token: got %v, want %v", inner.Parts()[1].Token(), h.Parts()[0].Token())
		}
		w.ok(inner.Unlock(ctx))
		if n := h.Count(); n != 3 {
			w.t.Errorf("count %d", n)
		}
		w.ok(h.Unlock(ctx))
		if w.exists(rdb, m.stateKey) != 0 {
			w.t.Error("it is still held")
		}
	})
}

// foreign is a Locker that the library does not know.
type foreign struct {
	Locker
	_ []int // it cannot be compared
}

func TestMultiLockTakesAnyLocker(t *testing.T) {
	virtual(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		l, elsewhere := w.locks(), w.locks()
		a, b, c, d := l.Mutex(w.name+"a"), l.Mutex(w.name+"b"), elsewhere.Mutex(w.name+"c"), l.Mutex(w.name+"d")
		h := w.must(MultiLock(MultiLock(b, a), foreign{Locker: c}, foreign{Locker: d}).Lock(ctx, Lease(5*time.Second)))
		for i, want := range map[*Hold]*Mutex{h.Parts()[0]: b, h.Parts()[1]: a, h.Parts()[2]: c, h.Parts()[3]: d} {
			if token := rdb.HGet(ctx, want.stateKey, "token").Val(); token != fmt.Sprint(i.Token()) {
				w.t.Errorf("%s has token %s, its part %d", want.name, token, i.Token())
			}
			if left := i.Remaining(); left > 5*time.Second || left < 4*time.Second {
				w.t.Errorf("%s has %s left", want.name, left)
			}
		}
		w.ok(h.Unlock(ctx))
		if w.exists(rdb, a.stateKey, b.stateKey, c.stateKey, d.stateKey) != 0 {
			w.t.Error("something is left")
		}
		for _, bad := range []Locker{MultiLock(), MultiLock(nil), MultiLock(a, nil)} {
			if _, err := bad.Lock(ctx); !errors.Is(err, ErrInvalid) {
				w.t.Errorf("error %v", err)
			}
		}
	})
}

func TestLostPartLosesTheMultiLock(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		l := w.locks()
		parts := w.segments(l, 3)
		h := w.must(MultiLock(lockers(parts)...).Lock(ctx))
		w.ok(rdb.Del(ctx, parts[1].stateKey).Err())
		if !l.renewDue(busytest.Patience) { // it reports the loss
			w.t.Error("no answer")
		}
		w.soon("the whole is lost", func() bool { return h.Context().Err() != nil })
		if cause := context.Cause(h.Context()); !errors.Is(cause, ErrLost) {
			w.t.Errorf("cause %v", cause)
		}
		if err := h.Unlock(ctx); !errors.Is(err, ErrLost) {
			w.t.Errorf("unlock: got %v, want ErrLost", err)
		}
		if w.exists(rdb, parts[0].stateKey, parts[2].stateKey) != 0 {
			w.t.Error("the others are still held")
		}
	})
}

// The lease of a MultiLock counts from its last part, also if the parts are handed off.
func TestMultiLockBeginsItsLeaseAnewAfterHandoffs(t *testing.T) {
	virtual(t, func(w *world) {
		const lease = 2 * time.Second
		ctx, holder := w.ctx(), NewOwner(w.ctx())
		parts := w.segments(w.locks(), 2)
		var held []*Hold
		for _, m := range parts {
			held = append(held, w.must(m.Lock(holder, Lease(lease))))
		}
		got := make(chan *Hold)
		go func() { got <- w.must(MultiLock(lockers(parts)...).Lock(ctx, Lease(lease))) }()
		for _, h := range held { // the second one before the lease of the first must restart
			time.Sleep(lease / 4)
			w.ok(h.Unlock(ctx))
		}
		h := <-got
		for i, part := range h.Parts() {
			if left := part.Remaining(); left < trust(lease)-10*time.Millisecond {
				w.t.Errorf("part %d has %s left", i, left)
			}
		}
		w.ok(h.Unlock(ctx))
	})
}

// A MultiLock that has lost a part and is never unlocked ends like any other forgotten hold.
func TestLostMultiLockExpires(t *testing.T) {
	virtual(t, func(w *world) {
		ctx := w.ctx()
		l, other := w.locks(WatchdogLease(time.Second)), w.locks()
		lost := l.Mutex(w.name)
		parts := []Locker{l.Mutex(w.name + "a"), l.FairMutex(w.name), l.RWMutex(w.name).Reader(), lost}
		h := w.must(MultiLock(parts[0], MultiLock(parts[1:]...)).Lock(ctx))
		_, err := other.Mutex(lost.name).ForceUnlock(ctx)
		w.ok(err)
		<-h.Context().Done()
		time.Sleep(3 * time.Second)
		for _, part := range []Locker{other.Mutex(w.name + "a"), other.FairMutex(w.name), other.RWMutex(w.name).Writer(), other.Mutex(w.name)} {
			w.ok(w.must(part.TryLock(ctx)).Unlock(ctx))
		}
		if err := h.Unlock(ctx); !errors.Is(err, ErrLost) {
			w.t.Errorf("unlock: got %v, want ErrLost", err)
		}
	})
}

// If the wait of a MultiLock is nearly over when an answer comes from far away, there is no time to renew what it took: the
// watchdog does so at once.
func TestMultiLockWithoutTimeToRenewKeepsItsParts(t *testing.T) {
	virtual(t, func(w *world) {
		const distance, lease = 200 * time.Millisecond, time.Second
		ctx := w.ctx()
		w.ok(w.must(w.locks().Mutex(w.name).Lock(ctx)).Unlock(ctx)) // the server knows the script
		w.memory.distance = distance
		for phase := range 6 { // of the watchdog
			l := w.locksOn(w.client(func(o *redis.Options) {
				dial := o.Dialer
				o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
					time.Sleep(distance) // the handshake of TCP
					return dial(ctx, network, addr)
				}
			}), WatchdogLease(lease))
			time.Sleep(time.Duration(phase) * 50 * time.Millisecond)
			h := w.must(MultiLock(l.Mutex(w.name)).Lock(ctx, Wait(650*time.Millisecond)))
			time.Sleep(lease)
			if cause := context.Cause(h.Context()); cause != nil {
				w.t.Errorf("phase %d: %v", phase, cause)
			}
			_ = h.Unlock(ctx)
			time.Sleep(lease)
		}
	})
}
