package locking

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/busytest"
	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

func TestInspectShowsHoldersAndWaiters(t *testing.T) {
	each(t, func(w *world) {
		ctx := w.ctx()
		m, other := w.locks(Name("till7")).Mutex(w.name), w.locks().Mutex(w.name)
		look := func() State {
			w.t.Helper()
			s, err := other.Inspect(ctx)
			w.ok(err)
			return s
		}
		if s := look(); s.Held() || s.Token != 0 || s.Remaining != 0 || s.Waiting != 0 {
			w.t.Errorf("free: %+v", s)
		}
		begin := time.Now()
		h := w.must(m.Lock(ctx))
		if _, err := New(w.client(), Name("till:7")); !strings.HasPrefix(h.Owner(), "till7-") || !errors.Is(err, ErrInvalid) {
			w.t.Errorf("got the owner %s and %v, want one of till7, and no name with a colon", h.Owner(), err)
		}
		inner := w.must(m.Lock(h.Context(), Lease(defaultWatchdogLease/2)))
		s := look()
		if !s.Held() || len(s.Holders) != 1 || s.Holders[0].Owner != h.Owner() || s.Holders[0].Count != 1 || s.Token != h.Token() {
			w.t.Errorf("held: %+v", s)
		}
		if s, err := m.Inspect(ctx); err != nil || s.Holders[0].Count != 2 {
			w.t.Errorf("its own process says %+v, %v", s, err)
		}
		w.leaves(s.Remaining, defaultWatchdogLease, begin)
		if left := inner.Remaining(); left <= 0 || left > defaultWatchdogLease/2 {
			w.t.Errorf("the inner hold has %s left", left)
		}
		w.ok(inner.Unlock(ctx))
		w.ok(h.Unlock(ctx))
		if s := look(); s.Held() || h.Remaining() != 0 || h.Count() != 0 {
			w.t.Errorf("free again: %+v", s)
		}
	})
}

// Any process may free a lock; its holder finds it lost, and a waiter enters.
func TestForceUnlockFreesTheLock(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m, waiting, other := w.locks().Mutex(w.name), w.locks().Mutex(w.name), w.locks().Mutex(w.name)
		h := w.must(m.Lock(ctx))
		inner := w.must(m.Lock(h.Context()))
		admitted := make(chan *Hold, 1)
		go func() { admitted <- w.must(waiting.Lock(ctx)) }()
		w.soon("it is queued", func() bool { return w.queued(rdb, m) == 1 })
		freed, err := other.ForceUnlock(ctx)
		if err != nil || !freed {
			w.t.Fatalf("freed %t, %v", freed, err)
		}
		next := <-admitted
		if next.Token() <= h.Token() {
			w.t.Errorf("token %d after %d", next.Token(), h.Token())
		}
		w.ok(inner.Unlock(ctx)) // not the last one, so it does not ask
		if err := h.Unlock(ctx); !errors.Is(err, ErrLost) {
			w.t.Errorf("unlock: got %v, want ErrLost", err)
		}
		w.ok(next.Unlock(ctx))
		if freed, err := other.ForceUnlock(ctx); err != nil || freed {
			w.t.Errorf("a free lock: freed %t, %v", freed, err)
		}
		mine := w.must(m.Lock(ctx))
		if _, err := m.ForceUnlock(ctx); err != nil {
			w.t.Error(err)
		}
		if mine.Context().Err() == nil {
			w.t.Error("the holder of the same process does not know")
		}
	})
}

// A renewal that finds the new token before its holder learns of it is no loss.
func TestRenewalWhileTheTokenRisesIsNoLoss(t *testing.T) {
	each(t, func(w *world) {
		ctx := w.ctx()
		l, tap := w.tapped()
		h := w.must(l.Mutex(w.name).Lock(ctx))
		_, err := h.TokenAbove(ctx, h.Token()) // the scripts are known now
		w.ok(err)
		tap.on(scripts.Token, func(_ redis.Cmder, next func() error) error {
			err := next()
			if !l.renewDue(busytest.Patience) {
				w.t.Error("the hold is not renewed meanwhile")
			}
			return err
		})
		_, err = h.TokenAbove(ctx, h.Token())
		w.ok(err)
		w.ok(h.Context().Err())
		if !l.renewDue(busytest.Patience) {
			w.t.Error("the hold is not renewed")
		}
		w.ok(h.Unlock(ctx))
	})
}

func TestTokenAboveRaisesTheToken(t *testing.T) {
	each(t, func(w *world) {
		ctx := w.ctx()
		m := w.locks().Mutex(w.name, Group(w.name))
		h := w.must(m.Lock(ctx))
		inner := w.must(m.Lock(h.Context()))
		first := h.Token()
		seen := first + int64(time.Hour/time.Microsecond)            // by a guard, when the clock ran ahead
		for _, n := range []int64{first - 1, seen, seen, seen + 2} { // the last one would be given next
			token, err := h.TokenAbove(ctx, n)
			w.ok(err)
			if token <= n || n < first && token != first || token != h.Token() || token != inner.Token() {
				w.t.Errorf("above %d: %d, hold %d, inner %d", n, token, h.Token(), inner.Token())
			}
		}
		if !m.locks.renewDue(busytest.Patience) || h.Context().Err() != nil {
			w.t.Error("the raised hold is not renewed")
		}
		raised := h.Token()
		w.ok(inner.Unlock(ctx))
		if _, err := inner.TokenAbove(ctx, raised); !errors.Is(err, ErrLost) {
			w.t.Errorf("after the inner unlock: got %v, want ErrLost", err)
		}
		w.ok(h.Unlock(ctx))
		if _, err := h.TokenAbove(ctx, 1); !errors.Is(err, ErrLost) {
			w.t.Errorf("after the unlock: got %v, want ErrLost", err)
		}
		next := w.must(m.Lock(ctx))
		if next.Token() <= raised {
			w.t.Errorf("token %d after %d", next.Token(), raised)
		}
		w.ok(w.client().Del(ctx, m.stateKey).Err())
		if _, err := next.TokenAbove(ctx, 1); !errors.Is(err, ErrLost) || !errors.Is(context.Cause(next.Context()), ErrLost) {
			w.t.Errorf("after the loss: %v, and the hold ended with %v", err, context.Cause(next.Context()))
		}
		for _, n := range []int64{-1, maxToken} {
			if _, err := next.TokenAbove(ctx, n); !errors.Is(err, ErrInvalid) {
				w.t.Errorf("above %d: got %v, want ErrInvalid", n, err)
			}
		}
	})
}

// Tokens grow also beyond the numbers to which scripts can add one.
func TestTokensGrowFromTheHighest(t *testing.T) {
	each(t, func(w *world) {
		ctx, l := w.ctx(), w.locks()
		rw := l.RWMutex(w.name)
		for _, m := range []Locker{l.Mutex(w.name), l.FairMutex(w.name), rw.Reader(), rw.Writer()} {
			h := w.must(m.Lock(ctx))
			last, err := h.TokenAbove(ctx, maxToken-1)
			w.ok(err)
			w.ok(h.Unlock(ctx))
			for range 4 {
				h := w.must(m.Lock(ctx))
				if h.Token() <= last {
					w.t.Errorf("%T: token %d after %d", m, h.Token(), last)
				}
				last = h.Token()
				w.ok(h.Unlock(ctx))
			}
		}
	})
}

// A lock that is taken from its owner by force, while only a re-entry keeps it, is free at once here as well.
func TestForceUnlockFreesWhatOnlyAReentryKeeps(t *testing.T) {
	virtual(t, func(w *world) {
		ctx := WithOwner(w.ctx())
		l, tap := w.tapped()
		m := l.Mutex(w.name)
		h := w.must(m.Lock(ctx))
		asked, unlocked, answered, forced := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
		first := true
		tap.on(scripts.Renew, func(_ redis.Cmder, next func() error) error {
			if !first {
				return next()
			}
			first = false
			close(asked)
			<-unlocked // the later result about the grant
			err := next()
			close(answered)
			<-forced
			return err
		})
		again := make(chan error, 1)
		go func() {
			h, err := m.Lock(ctx, Wait(500*time.Millisecond))
			if err == nil {
				err = h.Unlock(ctx)
			}
			again <- err
		}()
		<-asked
		w.ok(h.Unlock(ctx))
		close(unlocked)
		<-answered
		if held, err := m.ForceUnlock(ctx); !held || err != nil {
			w.t.Errorf("forced: %t, %v", held, err)
		}
		close(forced)
		w.ok(<-again)
	})
}

// A caller that gets the lock after it was taken by force keeps it, however late the answer to the force comes.
func TestForceUnlockKeepsALaterGrant(t *testing.T) {
	each(t, func(w *world) {
		ctx := w.ctx()
		l, tap := w.tapped()
		mutex, fair, rw := l.Mutex(w.name), l.FairMutex(w.name), l.RWMutex(w.name)
		for _, c := range []struct {
			lock   offered
			script *scripts.Script
		}{{mutex, scripts.Force}, {fair, scripts.FifoForce}, {rw.Writer(), scripts.FifoForce}, {rw.Reader(), scripts.FifoForce}} {
			_, err := c.lock.ForceUnlock(ctx) // the script is known now
			w.ok(err)
			forced := w.must(c.lock.Lock(ctx))
			var later *Hold
			tap.on(c.script, func(_ redis.Cmder, next func() error) error {
				defer func() { later = w.must(c.lock.Lock(ctx)) }()
				return next()
			})
			_, err = c.lock.ForceUnlock(ctx)
			w.ok(err)
			tap.on(nil, nil)
			if cause := context.Cause(forced.Context()); !errors.Is(cause, ErrLost) {
				w.t.Errorf("%T: what was taken by force ended with %v", c.lock, cause)
			}
			if err := later.Context().Err(); err != nil {
				w.t.Errorf("%T: the later hold ended: %v", c.lock, context.Cause(later.Context()))
			}
			w.ok(later.Unlock(ctx))
		}
	})
}

// A copy of a call that frees a lock by force does not touch who gets the lock afterwards: neither one that the network
// delivers when its caller has given up, nor the second one of a client that sends it twice.
func TestLateCopyOfAForceUnlockTouchesNobody(t *testing.T) {
	each(t, func(w *world) {
		ctx, rdb := w.ctx(), w.client()
		l, tap := w.tapped()
		rw := l.RWMutex(w.name)
		for _, c := range []struct {
			lock   offered
			script *scripts.Script
		}{{l.Mutex(w.name), scripts.Force}, {l.FairMutex(w.name), scripts.FifoForce}, {rw.Writer(), scripts.FifoForce}, {rw.Reader(), scripts.FifoForce}} {
			_, err := c.lock.ForceUnlock(ctx) // the script is known now
			w.ok(err)
			for _, arrives := range []bool{false, true} {
				held := w.must(c.lock.Lock(ctx))
				var call []any
				tap.on(c.script, func(cmd redis.Cmder, next func() error) error {
					call = cmd.Args()
					if arrives {
						return next()
					}
					return errLost
				})
				if freed, err := c.lock.ForceUnlock(ctx); freed != arrives || (err == nil) != arrives {
					w.t.Errorf("%T: freed %t, %v", c.lock, freed, err)
				}
				tap.on(nil, nil)
				if !arrives {
					w.ok(held.Unlock(ctx))
				}
				next := w.must(c.lock.Lock(ctx))
				w.late(rdb, call)
				w.renewed(l)
				if err := next.Unlock(ctx); err != nil {
					w.t.Errorf("%T: the late copy has freed the next holder's lock: %v", c.lock, err)
				}
			}
		}
	})
}

// A call that frees a lock by force does nothing any more when the server's clock has passed the time for its answer: its
// caller has gone, and the lease that it names may have passed on inside its process.
func TestForceUnlockComesTooLate(t *testing.T) {
	virtual(t, func(w *world) {
		ctx, rdb := w.ctx(), w.client()
		l, tap := w.tapped()
		rw := l.RWMutex(w.name)
		for _, c := range []struct {
			lock   offered
			script *scripts.Script
		}{{l.Mutex(w.name), scripts.Force}, {l.FairMutex(w.name), scripts.FifoForce}, {rw.Writer(), scripts.FifoForce}, {rw.Reader(), scripts.FifoForce}} {
			_, err := c.lock.ForceUnlock(ctx) // the script is known now
			w.ok(err)
			held := w.must(c.lock.Lock(ctx))
			var call []any
			tap.on(c.script, func(cmd redis.Cmder, _ func() error) error {
				call = cmd.Args()
				return errLost
			})
			_, err = c.lock.ForceUnlock(ctx)
			w.unknown("force", err)
			tap.on(nil, nil)
			time.Sleep(policy.Release + 10*time.Millisecond)
			w.late(rdb, call)
			w.ok(held.Unlock(ctx))
		}
	})
}
