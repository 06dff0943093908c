package locking

import (
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
	"inventory/internal/servertest"
)

// A bench is the cleaner of Locks on a Redis of the test's own.
type bench struct {
	*world
	own    *servertest.Redis
	client *redis.Client
	locks  *Locks
}

func startCleaner(t *testing.T) *bench {
	t.Helper()
	w, own := private(t)
	client := w.client(func(o *redis.Options) { o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries = true, -1, 1 })
	return &bench{world: w, own: own, client: client, locks: w.locksOn(client)}
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

// within waits for something.
func within[T any](t *testing.T, what string, signal <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-signal:
	case <-time.After(20 * time.Second):
		t.Fatalf("waited in vain: %s", what)
	}
	return got
}

// Calls are made once, and callers that wait for one learn of its try.
func TestCleanerMakesEachCallOnce(t *testing.T) {
	t.Parallel()
	b := startCleaner(t)
	const many = 2*server.Batch + 1
	var locks []*triedLock
	var done []<-chan struct{}
	for i := range many {
		locks = append(locks, b.held(fmt.Sprint("lock ", i)))
	}
	for i := range many {
		s := locks[i].call()
		s.until = time.Now().Add(time.Minute)
		done = append(done, b.locks.releaseLater(s))
	}
	for i := range many {
		within(t, "a try", done[i])
	}
	b.stop()
	for _, l := range locks {
		if l.tries.Load() != 1 {
			t.Fatalf("%d tries", l.tries.Load())
		}
	}
}

// While the server is down, a call is repeated until its time is over. Callers that wait learn only of the first try.
func TestCleanerRepeatsWhatTheServerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	b := startCleaner(t)
	short, long, once := b.held("short"), b.held("long"), b.held("once")
	if err := b.own.Kill(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	calls := []*releaseCall{once.call(), short.call(), long.call()}
	calls[1].until = begin.Add(300 * time.Millisecond)
	calls[2].until = begin.Add(time.Minute)
	for _, s := range calls {
		within(t, "the first try", b.locks.releaseLater(s))
	}
	for time.Since(begin) < 2*time.Second { // the time of the short one passes, and a try after it
		time.Sleep(50 * time.Millisecond)
	}
	shortTries := short.tries.Load()
	if err := b.own.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	for begin = time.Now(); b.client.Exists(t.Context(), "long").Val() != 0 && time.Since(begin) < 20*time.Second; {
		time.Sleep(10 * time.Millisecond)
	}
	b.stop()
	if n := once.tries.Load(); n != 1 {
		t.Errorf("what is tried once was tried %d times", n)
	}
	if n := short.tries.Load(); n < 2 || n != shortTries {
		t.Errorf("%d tries, and %d after its time", shortTries, n-shortTries)
	}
	if n := long.tries.Load(); n <= shortTries {
		t.Errorf("%d tries", n)
	}
}

// Calls that were handed over before the end are tried before it ends.
func TestCleanerEndsAfterALastTry(t *testing.T) {
	t.Parallel()
	b := startCleaner(t)
	l := b.held("a")
	done := b.locks.releaseLater(l.call())
	b.stop()
	within(t, "the try", done)
	if l.tries.Load() != 1 {
		t.Errorf("%d tries", l.tries.Load())
	}
}
