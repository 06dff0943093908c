package locksim_test

import (
	"testing"
	"time"

	"inventory/internal/locking"
	"inventory/internal/locking/locksim"
)

// While an owner's own unlock is under way, its Lock waits for that, and gets the lock.
func TestLockBesideAnUnlock(t *testing.T) {
	for name, pair := range map[string]func(l *locking.Locks) (held, wanted locking.Locker){
		"mutex": func(l *locking.Locks) (held, wanted locking.Locker) { return l.Mutex("a"), l.Mutex("a") },
		"fair":  func(l *locking.Locks) (held, wanted locking.Locker) { return l.FairMutex("a"), l.FairMutex("a") },
		"write": func(l *locking.Locks) (held, wanted locking.Locker) {
			return l.RWMutex("a").Writer(), l.RWMutex("a").Writer()
		},
		"read after write": func(l *locking.Locks) (held, wanted locking.Locker) {
			return l.RWMutex("a").Writer(), l.RWMutex("a").Reader()
		},
		"write after read": func(l *locking.Locks) (held, wanted locking.Locker) {
			return l.RWMutex("a").Reader(), l.RWMutex("a").Writer()
		},
		"multi": func(l *locking.Locks) (held, wanted locking.Locker) {
			return locking.MultiLock(l.Mutex("a"), l.FairMutex("b")), locking.MultiLock(l.FairMutex("b"), l.Mutex("a"))
		},
		"red": func(l *locking.Locks) (held, wanted locking.Locker) {
			return locking.RedLock("a", l), locking.RedLock("a", l)
		},
	} {
		t.Run(name, func(t *testing.T) {
			scripted(t, func(t *testing.T, w *locksim.World) {
				c := once(w)
				ctx := c.Actor().Ctx
				held, wanted := pair(c.Locks)
				for _, lock := range []locking.Locker{wanted, held} { // the server knows the scripts
					hold, err := lock.Lock(ctx)
					ok(t, err)
					ok(t, hold.Unlock(ctx))
				}
				hold, err := held.Lock(ctx)
				ok(t, err)
				late := lag(w, "release")
				unlocked := make(chan error, 1)
				go func() { unlocked <- hold.Unlock(ctx) }()
				soon(t, time.Second, "the release is on its way", late.Load)
				hold, err = wanted.Lock(ctx, locking.Wait(time.Second))
				ok(t, err)
				ok(t, <-unlocked)
				ok(t, hold.Unlock(ctx))
			})
		})
	}
}
