package locking

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/busytest"
	"inventory/internal/servertest"
)

// A guarded is a world under Sentinel.
type guarded struct {
	*world
	sentinel *servertest.Sentinel
}

// TestSentinel runs on one master with a replica, one test after the other.
func TestSentinel(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	sentinel, err := servertest.StartSentinel(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sentinel.Stop(); err != nil {
			t.Error(err)
		}
	})
	type part struct {
		name string
		run  func(w *guarded)
	}
	// This comes first: Sentinel acts by itself only if the last failover was a while ago.
	tests := []part{{"Death", sentinelDeath}, {"Failover", sentinelFailover}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.run(&guarded{&world{t: t, name: t.Name()}, sentinel})
			if err := sentinel.Settled(t.Context()); err != nil { // for the next test
				t.Fatal(err)
			}
		})
	}
}

// locks returns new Locks, like those of another process, on whichever server is the master.
func (w *guarded) locks(opts ...Option) *Locks {
	w.t.Helper()
	rdb := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: w.sentinel.MasterName(), SentinelAddrs: w.sentinel.Addrs(), DisableIdentity: true,
		ReadTimeout: 2 * time.Second,
	})
	w.t.Cleanup(func() { _ = rdb.Close() })
	return w.locksOn(rdb, append(opts, WatchdogLease(2*time.Second))...)
}

// Even an ordered failover has a moment with two masters, and what the old one accepts then is lost. So errors and two
// holders at once are possible, but no token is given twice. With acquisitions that the replica confirms, the old
// master grants nothing that the new one does not know.
func sentinelFailover(w *guarded) {
	ctx := w.ctx()
	confirm := WaitReplicas(1, 500*time.Millisecond)
	a, b, sureA, sureB := w.locks(), w.locks(), w.locks(confirm), w.locks(confirm)
	m, other := a.Mutex(w.name), b.Mutex(w.name)
	unsure := w.cycle(20, m, m, other)
	sure := w.cycle(20, sureA.Mutex(w.name+"sure"), sureB.Mutex(w.name+"sure"), sureB.Mutex(w.name+"sure"))
	w.await(unsure, 5)
	w.await(sure, 5)
	w.ok(w.sentinel.Failover(ctx))
	w.await(unsure, 10)
	w.await(sure, 10)
	w.end(unsure)
	w.end(sure)
	w.exclusive(sure)
	w.alternate(m, other, 8) // the subscriptions have found the new master
}

// A master dies during cycles.
func sentinelDeath(w *guarded) {
	ctx := w.ctx()
	a, b := w.locks(), w.locks()
	m, other := a.Mutex(w.name), b.Mutex(w.name)
	c := w.cycle(30, m, other, other)
	w.await(c, 5)
	dead, err := w.sentinel.Master(ctx)
	w.ok(err)
	w.ok(dead.Kill())
	w.ok(w.sentinel.Settled(ctx))
	w.await(c, 20) // the locks go on with Sentinel
	w.end(c)
	w.alternate(m, other, 8)
	w.ok(dead.Restart(ctx))
}
