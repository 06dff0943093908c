package locking

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking/internal/policy"
)

// Unlock says that a hold is lost as soon as its process knows, whatever the server does meanwhile, and for every kind: measured in
// virtual time.
func TestUnlockKnowsAtOnceThatAHoldIsLost(t *testing.T) {
	for server, c := range map[string]struct {
		fail, mend func(f *fleet, all []*Locks)
		also       error
	}{
		"silent": {func(f *fleet, _ []*Locks) { f.everyServer((*memory).Pause) }, func(f *fleet, _ []*Locks) { f.everyServer((*memory).Resume) }, nil},
		"dead":   {func(f *fleet, _ []*Locks) { f.everyServer((*memory).Kill) }, func(f *fleet, _ []*Locks) { f.everyServer((*memory).Restart) }, nil},
		"closed": {func(_ *fleet, all []*Locks) { closeAll(all) }, func(*fleet, []*Locks) {}, ErrClosed},
		"fine":   {func(*fleet, []*Locks) {}, func(*fleet, []*Locks) {}, nil},
	} {
		for client, keeps := range map[string]bool{"keeps deadlines": true, "keeps none": false} {
			if keeps && (server == "closed" || server == "fine") {
				continue // no client waits
			}
			t.Run(server+", client "+client, func(t *testing.T) {
				fleetOf(t, 3, func(t *testing.T, f *fleet) {
					for name, lock := range everyKind(f.name) {
						all := make([]*Locks, f.size())
						for i := range all {
							all[i] = f.locksOn(f.node(i, func(o *redis.Options) { o.ContextTimeoutEnabled, o.MaxRetries = keeps, -1 }))
						}
						h := f.must(lock(all).Lock(t.Context(), Lease(time.Second)))
						c.fail(f, all)
						<-h.Context().Done()
						if cause := context.Cause(h.Context()); !errors.Is(cause, ErrLost) {
							t.Errorf("%s: the context ended with %v, want ErrLost", name, cause)
						}
						gone, leave := context.WithCancel(t.Context())
						leave()
						start := time.Now()
						err := h.Unlock(gone)
						if !errors.Is(err, ErrLost) {
							t.Errorf("%s: Unlock says %v, want ErrLost", name, err)
						}
						if took := time.Since(start); took > policy.Cleanup {
							t.Errorf("%s: Unlock took %s, want %s at most", name, took, policy.Cleanup)
						}
						if c.also != nil && !errors.Is(err, c.also) && name != "on a quorum" {
							t.Errorf("%s: Unlock says %v, want %v as well", name, err, c.also)
						}
						if err := h.Unlock(t.Context()); err != nil {
							t.Errorf("%s: a second Unlock says %v", name, err)
						}
						c.mend(f, all)
						closeAll(all)
					}
				})
			})
		}
	}
}

// everyKind makes a lock of each kind on three servers.
func everyKind(name string) map[string]func(on []*Locks) Locker {
	return map[string]func(on []*Locks) Locker{
		"mutex":              func(on []*Locks) Locker { return on[0].Mutex(name) },
		"fair":               func(on []*Locks) Locker { return on[0].FairMutex(name) },
		"write":              func(on []*Locks) Locker { return on[0].RWMutex(name).Writer() },
		"read":               func(on []*Locks) Locker { return on[0].RWMutex(name).Reader() },
		"several":            func(on []*Locks) Locker { return MultiLock(on[0].Mutex(name), on[0].FairMutex(name)) },
		"several on servers": func(on []*Locks) Locker { return MultiLock(on[0].Mutex(name), on[1].Mutex(name)) },
		"on a quorum":        func(on []*Locks) Locker { return RedLock(name, on...) },
		"of all": func(on []*Locks) Locker {
			return MultiLock(RedLock(name, on...), MultiLock(on[2].RWMutex(name).Reader(), on[0].Mutex(name+" other")))
		},
	}
}

func closeAll(all []*Locks) {
	for _, l := range all {
		_ = l.Close() // never fails
	}
}

func (f *fleet) everyServer(do func(*memory)) {
	for _, server := range f.servers {
		do(server)
	}
}

// The parts that are left of a lost MultiLock are given back all the same: Unlock does not wait, and the server learns of it when
// it can.
func TestUnlockOfALostMultiLockLeavesNothing(t *testing.T) {
	virtual(t, func(w *world) {
		ctx, rdb := w.t.Context(), w.client()
		l, admin := w.locks(), w.locks()
		one, other := l.Mutex(w.name), l.FairMutex(w.name)
		h := w.must(MultiLock(one, other).Lock(ctx))
		if freed, err := admin.Mutex(w.name).ForceUnlock(ctx); err != nil || !freed {
			w.t.Fatal(freed, err)
		}
		l.renewDue(time.Second)
		<-h.Context().Done()
		w.memory.Pause()
		start := time.Now()
		if err := h.Unlock(ctx); !errors.Is(err, ErrLost) || time.Since(start) > policy.Cleanup {
			w.t.Errorf("Unlock says %v after %s", err, time.Since(start))
		}
		time.Sleep(10 * time.Second)
		w.memory.Resume()
		w.soon("the other part is free", func() bool { return w.exists(rdb, one.stateKey, other.stateKey) == 0 })
	})
}

// A process that stood still for longer than the lease unlocks before anything has told it of the loss: its clock does.
func TestUnlockKnowsThatTheLeaseIsOver(t *testing.T) {
	virtual(t, func(w *world) {
		seen := &diary{}
		l := w.locks(Observe(seen))
		h := w.must(l.Mutex(w.name).Lock(w.ctx(), Lease(time.Second)))
		w.memory.Pause()
		l.mu.Lock()
		h.one().expiry.Stop()
		h.one().deadline = time.Now()
		l.mu.Unlock()
		if err := h.Unlock(w.ctx()); !errors.Is(err, ErrLost) || !errors.Is(context.Cause(h.Context()), ErrLost) {
			w.t.Errorf("Unlock says %v, and the context %v", err, context.Cause(h.Context()))
		}
		if got := seen.since(); slices.Contains(got, "released mutex") {
			w.t.Errorf("an Observer got %q, want a loss", got)
		}
		w.memory.Resume()
	})
}

// An owner has two holds, and one is lost. The other is handed off when it is unlocked: from then on the lease is the next
// owner's, and to unlock the lost hold does not end it.
func TestUnlockOfALostHoldLeavesTheSuccessorAlone(t *testing.T) {
	virtual(t, func(w *world) {
		l, elsewhere := w.locks(), w.locks()
		m := l.Mutex(w.name)
		ctx := WithOwner(w.ctx())
		first := w.must(m.Lock(ctx))
		lost := w.must(m.Lock(ctx, Lease(20*time.Millisecond)))
		next := w.lineUp(m, 1)[0]
		<-lost.Context().Done()
		w.ok(first.Unlock(ctx))
		h := w.must(<-next.hold, <-next.err)
		if err := lost.Unlock(ctx); !errors.Is(err, ErrLost) {
			w.t.Errorf("the lost hold: %v, want ErrLost", err)
		}
		if _, err := elsewhere.Mutex(w.name).TryLock(w.ctx()); !errors.Is(err, ErrBusy) {
			w.t.Errorf("another process while the successor has the lock: %v, want ErrBusy", err)
		}
		w.ok(h.Unlock(w.ctx()))
	})
}
