package locksim_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"inventory/internal/locking"
	"inventory/internal/locking/locksim"
)

// onEachKind is scripted with a lock of each kind that has one token.
func onEachKind(t *testing.T, play func(t *testing.T, w *locksim.World, c *locksim.Client, lock locking.Locker)) {
	for kind, locker := range map[string]func(l *locking.Locks) locking.Locker{
		"mutex": func(l *locking.Locks) locking.Locker { return l.Mutex("a") },
		"fair":  func(l *locking.Locks) locking.Locker { return l.FairMutex("a") },
		"write": func(l *locking.Locks) locking.Locker { return l.RWMutex("a").Writer() },
		"read":  func(l *locking.Locks) locking.Locker { return l.RWMutex("a").Reader() },
	} {
		t.Run(kind, func(t *testing.T) {
			scripted(t, func(t *testing.T, w *locksim.World) {
				c := once(w)
				play(t, w, c, locker(c.Locks))
			})
		})
	}
}

// lag delays the next request whose verb ends like that. It returns a function that reports whether that request is
// under way.
func lag(w *locksim.World, verb string) *atomic.Bool {
	var late atomic.Bool
	w.On(func(q *locksim.Request, f *locksim.Fate) {
		if strings.HasSuffix(q.Verb, verb) && late.CompareAndSwap(false, true) {
			f.Delay = 10 * latency
		}
	})
	return &late
}

// A renewal names a token that rises before the renewal arrives: the hold is not lost, and is renewed in time.
func TestRenewalBesideARisingToken(t *testing.T) {
	onEachKind(t, func(t *testing.T, w *locksim.World, c *locksim.Client, lock locking.Locker) {
		ctx := c.Actor().Ctx
		hold, err := lock.Lock(ctx)
		ok(t, err)
		_, err = hold.TokenAbove(ctx, 0) // the script is known
		ok(t, err)
		late := lag(w, "renew")
		soon(t, lease, "a renewal is on its way", late.Load)
		_, err = hold.TokenAbove(ctx, hold.Token())
		ok(t, err)
		time.Sleep(2 * lease)
		ok(t, context.Cause(hold.Context()))
		ok(t, hold.Unlock(ctx))
	})
}

// A re-entry names a token that rises before the re-entry arrives: it succeeds anyway, and the outer hold is not lost.
func TestReentryBesideARisingToken(t *testing.T) {
	onEachKind(t, func(t *testing.T, w *locksim.World, c *locksim.Client, lock locking.Locker) {
		ctx := c.Actor().Ctx
		outer, err := lock.Lock(ctx, locking.Lease(time.Minute))
		ok(t, err)
		_, err = outer.TokenAbove(ctx, 0) // the script is known
		ok(t, err)
		late := lag(w, "renew")
		got := make(chan *locking.Hold, 1)
		go func() {
			inner, err := lock.Lock(ctx)
			if err != nil {
				t.Error(err)
			}
			got <- inner
		}()
		soon(t, time.Second, "a re-entry is on its way", late.Load)
		token, err := outer.TokenAbove(ctx, outer.Token())
		ok(t, err)
		inner := <-got
		ok(t, context.Cause(outer.Context()))
		if inner.Token() != token || inner.Count() != 2 {
			t.Errorf("token %d after %d, count %d", inner.Token(), token, inner.Count())
		}
		ok(t, inner.Unlock(ctx))
		ok(t, outer.Unlock(ctx))
	})
}
