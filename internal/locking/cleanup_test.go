package locking

import (
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/busytest"
	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
)

// A bench is the cleaner of Locks.
type bench struct {
	*world
	client *redis.Client
	locks  *Locks
}

func (w *world) startCleaner() *bench {
	w.t.Helper()
	client := w.client(func(o *redis.Options) { o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries = true, -1, 1 })
	return &bench{world: w, client: client, locks: w.locksOn(client)}
}

// stop stops the cleaner, and waits until it has ended.
func (b *bench) stop() { b.ok(b.locks.Close()) }

// A tried lock is freed by a call that counts its tries.
type triedLock struct {
	mutexKind
	lock
	tries atomic.Int32
}

func (l *triedLock) releasing(*releaseCall) scripts.Call {
	l.tries.Add(1)
	return scripts.Force.NewCall(2, 3).With(l.stateKey, l.queueKey, 1000, int64(math.MaxInt64), "P:a")
}

// held returns a lock that is held.
func (b *bench) held(name string) *triedLock {
	b.t.Helper()
	if err := b.client.HSet(b.t.Context(), name, "P:a", 1, "token", 1).Err(); err != nil {
		b.t.Fatal(err)
	}
	l := &triedLock{lock: lock{locks: b.locks, stateKey: name, queueKey: name + " queue"}}
	l.kind = l
	return l
}

// call is the call about the lock.
func (l *triedLock) call() *releaseCall { return &releaseCall{rows: []releaseRow{{lock: &l.lock}}} }

// Calls are made once, and callers that wait for one learn of its try.
func TestCleanerMakesEachCallOnce(t *testing.T) {
	each(t, func(w *world) {
		b := w.startCleaner()
		const many = 2*server.Batch + 1
		var locks []*triedLock
		var done []<-chan struct{}
		for i := range many {
			locks = append(locks, b.held(fmt.Sprint(w.name, i)))
		}
		for i := range many {
			s := locks[i].call()
			s.until = time.Now().Add(busytest.Patience)
			done = append(done, b.locks.releaseLater(s))
		}
		for i := range many {
			busytest.Receive(w.t, "a try", done[i])
		}
		b.stop()
		for _, l := range locks {
			// A server that answers too late gets the call once more.
			if n := l.tries.Load(); n != 1 && w.virtual || n < 1 {
				w.t.Fatalf("%d tries", n)
			}
		}
	})
}

// While the server is down, a call is repeated until its time is over. Callers that wait learn only of the first try.
func TestCleanerRepeatsWhatTheServerDoesNotAnswer(t *testing.T) {
	virtual(t, func(w *world) {
		b := w.startCleaner()
		short, long, once := b.held("short"), b.held("long"), b.held("once")
		w.memory.stop()
		begin := time.Now()
		calls := []*releaseCall{once.call(), short.call(), long.call()}
		calls[1].until = begin.Add(300 * time.Millisecond)
		calls[2].until = begin.Add(time.Minute)
		for _, s := range calls {
			busytest.Receive(w.t, "the first try", b.locks.releaseLater(s))
		}
		time.Sleep(2 * time.Second) // the time of the short one passes, and a try after it
		shortTries := short.tries.Load()
		w.memory.Restart()
		w.soon("the long one is done", func() bool { return w.exists(b.client, "long") == 0 })
		b.stop()
		if n := once.tries.Load(); n != 1 {
			w.t.Errorf("what is tried once was tried %d times", n)
		}
		if n := short.tries.Load(); n < 2 || n != shortTries {
			w.t.Errorf("%d tries, and %d after its time", shortTries, n-shortTries)
		}
		if n := long.tries.Load(); n <= shortTries {
			w.t.Errorf("%d tries", n)
		}
	})
}

// Calls that were handed over before the end are tried before it ends.
func TestCleanerEndsAfterALastTry(t *testing.T) {
	each(t, func(w *world) {
		b := w.startCleaner()
		l := b.held(w.name)
		done := b.locks.releaseLater(l.call())
		b.stop()
		busytest.Receive(w.t, "the try", done)
		if l.tries.Load() != 1 {
			w.t.Errorf("%d tries", l.tries.Load())
		}
	})
}

// A server is silent for long, and much is to be cleaned up there. Calls that no longer matter are forgotten, however many they are.
func TestCleanerForgetsWhatNoLongerMatters(t *testing.T) {
	virtual(t, func(w *world) {
		l := w.locks()
		w.must(l.Mutex(w.name).Lock(w.ctx()))
		w.memory.Pause()
		for i := range 20 * batch {
			l.writeTombstone(&l.Mutex(w.name).lock, int64(i+1), time.Second)
		}
		time.Sleep(time.Second + 3*policy.LastCleanerAnswer)
		l.cleaning.Lock()
		left := len(l.cleanups)
		l.cleaning.Unlock()
		if left > batch {
			w.t.Errorf("%d calls are kept, all of which are over", left)
		}
		w.memory.Resume()
	})
}

// A server comes back. Calls about a lock that had to wait for the oldest one are made together, also while callers leave its line.
func TestCleanerCatchesUpWhileCallersLeave(t *testing.T) {
	virtual(t, func(w *world) {
		b := w.startCleaner()
		l := b.held("a")
		w.memory.stop()
		for range 10 {
			s := l.call()
			s.until = time.Now().Add(time.Minute)
			busytest.Receive(w.t, "the first try", b.locks.releaseLater(s))
		}
		time.Sleep(2 * time.Second)
		w.memory.Restart()
		for range 5 {
			busytest.Receive(w.t, "a try", b.locks.releaseLater(l.call())) // as a caller that leaves its line
			time.Sleep(10 * time.Millisecond)
		}
		b.locks.cleaning.Lock()
		left := len(b.locks.cleanups)
		b.locks.cleaning.Unlock()
		if left > 0 {
			w.t.Errorf("%d calls are left", left)
		}
		b.stop()
	})
}

// A full server refuses to write the tombstone of one call, for as long as it is full. Another call about that lock, which got no answer before, does
// not wait for that.
func TestCleanerFreesALockWithoutMemory(t *testing.T) {
	t.Parallel()
	w, _ := private(t)
	rdb, ctx, l := w.client(), w.ctx(), w.locks()
	m := l.Mutex(w.name)
	h := w.must(m.Lock(ctx))
	w.renewed(l) // the scripts are known
	w.ok(w.must(l.Mutex("other").Lock(ctx)).Unlock(ctx))
	w.ok(rdb.ConfigSet(ctx, "maxmemory", "1").Err())
	l.writeTombstone(&m.lock, 1, time.Minute)
	s := &releaseCall{rows: []releaseRow{{lock: &m.lock, id: h.one().grant.id}}, until: time.Now().Add(time.Minute), tries: 1}
	l.releaseLater(s)
	w.soon("it is free", func() bool { return w.exists(rdb, m.stateKey) == 0 })
	l.cleaning.Lock()
	left := len(l.cleanups)
	l.cleaning.Unlock()
	if left == 0 {
		t.Error("it was free only after the time of the tombstone")
	}
	w.ok(rdb.ConfigSet(ctx, "maxmemory", "0").Err())
}
