package locking

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// A MultiLock has a part at one server and waits for another at a second one. If the Locks of the first are closed, they
// send nothing more for it, and its wait ends.
func TestCloseEndsTheWaitOfAMultiLock(t *testing.T) {
	virtual(t, func(w *world) {
		const lease = time.Second
		ctx := w.ctx()
		l, tap := w.tapped()
		second := &world{t: w.t, memory: newMemory(w.t, near), virtual: true}
		busy := w.must(second.locks().Mutex(w.name).Lock(ctx))
		failed := make(chan error, 1)
		go func() {
			_, err := MultiLock(l.FairMutex(w.name), second.locks().Mutex(w.name)).Lock(ctx, Lease(lease)) // in this order
			failed <- err
		}()
		time.Sleep(lease)
		w.ok(l.Close())
		sent := tap.trips()
		time.Sleep(lease)
		if more := tap.trips() - sent; more > 0 {
			w.t.Errorf("%d round trips after Close", more)
		}
		w.ok(busy.Unlock(ctx))
		if err := <-failed; !errors.Is(err, ErrClosed) {
			w.t.Errorf("the MultiLock: got %v, want ErrClosed", err)
		}
	})
}

// A MultiLock has all its parts and begins their fixed leases. If their Locks are closed meanwhile, the parts that have not begun are
// lost, and so is the MultiLock: nobody renews a part whose lease has not begun.
func TestCloseEndsTheBeginOfAFixedLease(t *testing.T) {
	virtual(t, func(w *world) {
		l, tap := w.tapped()
		var parts []Locker
		for n := range 2 * atOnce {
			parts = append(parts, l.Mutex(fmt.Sprint(w.name, n)))
		}
		closed := make(chan error, 1)
		var once sync.Once
		tap.on(scripts.Renew, func(_ redis.Cmder, next func() error) error {
			once.Do(func() {
				go func() { closed <- l.Close() }()
				<-l.closing
			})
			return next()
		})
		_, err := MultiLock(parts...).Lock(w.ctx(), Lease(time.Minute))
		if !errors.Is(err, ErrLost) || !errors.Is(err, ErrClosed) {
			w.t.Errorf("got %v, want ErrLost and ErrClosed", err)
		}
		w.ok(<-closed)
	})
}

// Close cuts short the call by which the last waiter of a process leaves a queue. Close makes it again: the place would be in the way
// of others.
func TestCloseLeavesTheQueueAlthoughItCutsTheCallShort(t *testing.T) {
	virtual(t, func(w *world) {
		ctx, looks, rdb := w.ctx(), w.client(), w.client()
		held := w.must(w.locks().Mutex(w.name).Lock(ctx))
		l := w.locksOn(rdb)
		rdb.AddHook(&before{does: func() { <-l.stop }})
		rdb.AddHook(&tap{lose: 1})
		m, failed := l.Mutex(w.name), make(chan error, 1)
		go func() {
			_, err := m.Lock(ctx)
			failed <- err
		}()
		w.soon("it queues", func() bool { return w.queued(looks, m) == 1 })
		w.ok(l.Close())
		if err := <-failed; !errors.Is(err, ErrClosed) {
			w.t.Errorf("the waiter: got %v, want ErrClosed", err)
		}
		if n := w.queued(looks, m); n != 0 {
			w.t.Errorf("%d places in the queue after Close", n)
		}
		w.ok(held.Unlock(ctx))
	})
}

// A RedLock that waits for another owner ends its wait as soon as too few Locks are open for a quorum: measured in virtual time.
func TestCloseEndsTheWaitOfARedLock(t *testing.T) {
	fleetOf(t, 3, func(t *testing.T, f *fleet) {
		busy := f.must(RedLock(f.name, f.locks()...).Lock(f.ctx()))
		all, failed := f.locks(), make(chan error, 1)
		go func() {
			_, err := RedLock(f.name, all...).Lock(f.ctx())
			failed <- err
		}()
		time.Sleep(time.Second)
		f.ok(all[0].Close())
		time.Sleep(time.Second)
		select {
		case err := <-failed:
			t.Errorf("two of three are open: %v", err)
		default:
		}
		start := time.Now()
		f.ok(all[1].Close())
		if err := <-failed; !errors.Is(err, ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("it took %s", took)
		}
		f.ok(busy.Unlock(f.ctx()))
	})
}

// Close waits for a silent server no longer than the client does, whatever the lease. In virtual time.
func TestCloseDoesNotWaitForARenewal(t *testing.T) {
	for _, lease := range []time.Duration{defaultWatchdogLease, 5 * time.Minute} {
		t.Run(lease.String(), func(t *testing.T) {
			virtual(t, func(w *world) {
				rdb := w.client(keepsDeadline)
				l := w.locksOn(rdb, WatchdogLease(lease))
				w.must(l.Mutex(w.name).Lock(w.ctx()))
				w.memory.Pause()
				time.Sleep(lease/3 + rdb.Options().ReadTimeout + time.Second)
				start := time.Now()
				w.ok(l.Close())
				if took := time.Since(start); took > rdb.Options().ReadTimeout+policy.LastCleanerAnswer {
					w.t.Errorf("Close took %s, and the client waits for %s", took, rdb.Options().ReadTimeout)
				}
				w.memory.Resume()
			})
		})
	}
}

// The same for a renewal that a MultiLock makes before it takes its next part. In virtual time.
func TestCloseDoesNotWaitForTheRenewalOfAMultiLock(t *testing.T) {
	const lease = 5 * time.Minute
	virtual(t, func(w *world) {
		rdb := w.client(keepsDeadline)
		l := w.locksOn(rdb, WatchdogLease(lease))
		h := w.must(l.Mutex(w.name).Lock(w.ctx()))
		l.mu.Lock()
		h.one().setDeadlineLocked(time.Now().Add(lease / 2)) // as if the answer had taken long
		l.mu.Unlock()
		w.memory.Pause()
		if _, err := l.Mutex("other").Lock(w.ctx(), Wait(time.Second)); err == nil { // from now on the server is in doubt
			t.Error("a server that is silent gave a lock")
		}
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			(&acquisition{ctx: w.t.Context()}).hasten([]*Hold{h})
		}()
		time.Sleep(time.Second)
		start := time.Now()
		w.ok(l.Close())
		if took := time.Since(start); took > rdb.Options().ReadTimeout+policy.LastCleanerAnswer {
			w.t.Errorf("Close took %s, and the client waits for %s", took, rdb.Options().ReadTimeout)
		}
		<-gone
		w.memory.Resume()
	})
}
