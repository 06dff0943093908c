package locking

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking/internal/policy"
)

// after returns the name of a mutex that comes after a place in the order of all locks.
func after(l *Locks, order string) string {
	for i := 0; ; i++ {
		if name := fmt.Sprint("later", i); l.Mutex(name).order > order {
			return name
		}
	}
}

// A MultiLock with a fixed lease has a RedLock and waits for another part. Meanwhile one of three nodes falls silent, or dies. The
// MultiLock is there as soon as the other part is free. In virtual time.
func TestMultiLockOfARedLockDoesWithoutANode(t *testing.T) {
	for what, fail := range map[string]func(*memory){"silent": (*memory).Pause, "gone": (*memory).Kill} {
		for when, waits := range map[string]time.Duration{"just now": time.Millisecond, "for a while": 12 * time.Second, "for long": time.Minute} {
			t.Run(what+" "+when, func(t *testing.T) {
				fleetOf(t, 3, func(t *testing.T, f *fleet) {
					all := f.locks()
					red := RedLock(f.name, all...)
					last := all[0].Mutex(after(all[0], red.order))
					busy := f.must(f.locks()[0].Mutex(last.name).Lock(f.ctx()))
					time.AfterFunc(time.Second, func() { fail(f.servers[2]) })
					var freed time.Time
					time.AfterFunc(time.Second+waits, func() {
						freed = time.Now()
						_ = busy.Unlock(t.Context())
					})
					h, err := MultiLock(red, last).Lock(f.ctx(), Lease(5*time.Second))
					if took := time.Since(freed); err != nil || took > time.Second {
						t.Errorf("%v, %s after the last part was free", err, took)
					}
					f.servers[2].Resume()
					f.servers[2].Restart()
					if err == nil {
						f.ok(h.Unlock(f.ctx()))
					}
					time.Sleep(2 * time.Second)
				})
			})
		}
	}
}

// An owner holds a MultiLock with a fixed lease, and takes one of its locks once more in another MultiLock, which has to wait. What
// that has is renewed while it waits.
func TestMultiLockRenewsWhatItsOwnerHasWithAFixedLease(t *testing.T) {
	for kind, lock := range map[string]func(l *Locks, name string) Locker{
		"mutex":  func(l *Locks, name string) Locker { return l.Mutex(name) },
		"fair":   func(l *Locks, name string) Locker { return l.FairMutex(name) },
		"reader": func(l *Locks, name string) Locker { return l.RWMutex(name).Reader() },
	} {
		t.Run(kind, func(t *testing.T) {
			virtual(t, func(w *world) {
				const watchdog = time.Second
				l := w.locks(WatchdogLease(watchdog))
				mine := lock(l, w.name)
				last := l.Mutex(after(l, mine.(single).self().order))
				h := w.must(MultiLock(mine).Lock(w.ctx(), Lease(time.Minute)))
				busy := w.must(w.locks().Mutex(last.name).Lock(w.ctx()))
				time.AfterFunc(5*watchdog, func() { _ = busy.Unlock(w.t.Context()) })
				again := w.must(MultiLock(mine, last).Lock(h.Context(), Lease(time.Minute)))
				w.ok(again.Unlock(w.ctx()))
				w.ok(h.Unlock(w.ctx()))
			})
		})
	}
}

// An owner that holds a lock with a fixed lease takes it once more as a part of a MultiLock with a fixed lease. The server keeps it
// for the longer of the two, and not for the watchdog's lease.
func TestLockThatAMultiLockReentersIsFreeAtTheEndOfItsLease(t *testing.T) {
	const lease = time.Second
	for kind, lock := range map[string]func(l *Locks, name string) Locker{
		"mutex":  func(l *Locks, name string) Locker { return l.Mutex(name) },
		"fair":   func(l *Locks, name string) Locker { return l.FairMutex(name) },
		"reader": func(l *Locks, name string) Locker { return l.RWMutex(name).Reader() },
	} {
		t.Run(kind, func(t *testing.T) {
			virtual(t, func(w *world) {
				l, rdb := w.locks(), w.client()
				m := lock(l, w.name)
				h := w.must(m.Lock(w.ctx(), Lease(lease)))
				w.must(MultiLock(m, l.Mutex("other")).Lock(h.Context(), Lease(lease)))
				if left := rdb.PTTL(w.ctx(), m.(single).self().stateKey).Val(); left > lease {
					w.t.Errorf("the server keeps it for %s, want %s", left, lease)
				}
			})
		})
	}
}

// A MultiLock whose first part was granted late renews it before it takes the next. Its caller cancels while the server is silent
// again, and goes at once. In virtual time.
func TestCancelledMultiLockDoesNotWaitForARenewal(t *testing.T) {
	virtual(t, func(w *world) {
		l := w.locksOn(w.client(func(o *redis.Options) { keepsDeadline(o); o.ReadTimeout = -1 }))
		for _, name := range []string{"a", "b"} {
			w.ok(w.must(l.Mutex(name).Lock(w.ctx())).Unlock(w.ctx()))
		}
		ctx, cancel := context.WithCancel(w.t.Context())
		w.memory.Pause()
		failed := make(chan error, 1)
		go func() {
			_, err := MultiLock(l.Mutex("a"), l.Mutex("b")).Lock(ctx)
			failed <- err
		}()
		time.Sleep(defaultWatchdogLease/3 + time.Second)
		w.memory.Resume()
		for held := false; !held; time.Sleep(10 * time.Microsecond) {
			l.mu.Lock()
			held = len(l.grants) > 0
			l.mu.Unlock()
		}
		w.memory.Pause()
		start := time.Now()
		cancel()
		err := <-failed
		if took := time.Since(start); !errors.Is(err, context.Canceled) || took > 4*policy.Cleanup {
			w.t.Errorf("%v after %s", err, took)
		}
		w.memory.Resume()
	})
}

// The same with a short lease: to wait for the silent node must not use the lease up. In virtual time.
func TestShortMultiLockOfARedLockDoesWithoutANode(t *testing.T) {
	for _, lease := range []time.Duration{policy.Node, 2 * policy.Node} {
		t.Run(lease.String(), func(t *testing.T) {
			fleetOf(t, 3, func(t *testing.T, f *fleet) {
				all := f.locks()
				red := RedLock(f.name, all...)
				last := all[0].Mutex(after(all[0], red.order))
				busy := f.must(f.locks()[0].Mutex(last.name).Lock(f.ctx()))
				time.AfterFunc(time.Second, func() { f.servers[2].Pause() })
				time.AfterFunc(2*time.Second, func() { _ = busy.Unlock(t.Context()) })
				h, err := MultiLock(red, last).Lock(f.ctx(), Lease(lease))
				f.servers[2].Resume()
				if err != nil {
					t.Fatal(err)
				}
				if left := h.Remaining(); left < lease/2 {
					t.Errorf("%s of %s are left", left, lease)
				}
				f.ok(h.Unlock(f.ctx()))
				time.Sleep(2 * time.Second)
			})
		})
	}
}
