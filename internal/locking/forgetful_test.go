package locking

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking/internal/policy"
)

// A network forgets all connections while a process holds locks. None is lost, with any size of the pool and any time-out up to a
// third of the lease.
func TestForgottenConnectionsCostNoLock(t *testing.T) {
	for _, lease := range []time.Duration{30 * time.Second, 3 * time.Second} {
		t.Run(lease.String(), func(t *testing.T) { forgetsAll(t, lease) })
	}
}

// forgetsAll has a network forget all connections again and again while holds of a lease live.
func forgetsAll(t *testing.T, lease time.Duration) {
	t.Helper()
	for client, set := range map[string]func(o *redis.Options){
		"default":         func(*redis.Options) {},
		"one connection":  func(o *redis.Options) { o.PoolSize, o.ReadTimeout = 1, lease/3 },
		"many, patient":   func(o *redis.Options) { o.PoolSize, o.ReadTimeout, o.MaxRetries = 100, lease/3, -1 },
		"no time-out":     func(o *redis.Options) { o.PoolSize, o.ReadTimeout = 100, lease },
		"first in, out":   func(o *redis.Options) { o.PoolSize, o.PoolFIFO = 100, true },
		"keeps deadlines": func(o *redis.Options) { o.PoolSize, o.ContextTimeoutEnabled, o.ReadTimeout = 100, true, lease/3 },
		"as the service":  func(o *redis.Options) { keepsDeadline(o); o.ReadTimeout = lease / 100 },
	} {
		t.Run(client, func(t *testing.T) {
			virtual(t, func(w *world) {
				rdb := w.client(set)
				w.warm(rdb, 20)
				l := w.locksOn(rdb, WatchdogLease(lease))
				var holds []*Hold
				for _, m := range []Locker{l.Mutex(w.name), l.FairMutex(w.name), l.RWMutex(w.name).Reader(), MultiLock(l.Mutex("a"), l.FairMutex("b"))} {
					holds = append(holds, w.must(m.Lock(w.ctx())))
				}
				for range 5 {
					time.Sleep(lease / 4)
					w.memory.forget()
				}
				time.Sleep(lease)
				for i, h := range holds {
					if cause := context.Cause(h.Context()); cause != nil {
						w.t.Errorf("hold %d: %v", i, cause)
					}
				}
			})
		})
	}
}

// A network forgets all connections while a process holds locks: each unlock is confirmed, over a new connection after its first try.
func TestForgottenConnectionsCostNoAnswerToAnUnlock(t *testing.T) {
	for client, set := range map[string]func(o *redis.Options){
		"default":        func(o *redis.Options) { o.PoolSize = 100 },
		"patient":        func(o *redis.Options) { o.PoolSize, o.ReadTimeout = 100, time.Minute },
		"as the service": keepsDeadline,
	} {
		t.Run(client, func(t *testing.T) {
			virtual(t, func(w *world) {
				rdb, admin := w.client(set), w.client()
				w.warm(rdb, 20)
				l := w.locksOn(rdb)
				var holds []*Hold
				for _, m := range []Locker{l.Mutex(w.name), l.FairMutex(w.name), l.RWMutex(w.name).Reader(), MultiLock(l.Mutex("a"), l.FairMutex("b"))} {
					holds = append(holds, w.must(m.Lock(w.ctx())))
				}
				w.memory.forget()
				for i, h := range holds {
					start := time.Now()
					err := h.Unlock(w.ctx())
					if took := time.Since(start); err != nil || took > policy.FirstRelease+policy.Grace {
						w.t.Errorf("hold %d: %v after %s", i, err, took)
					}
				}
				for _, s := range singlesOf(holds) {
					if w.exists(admin, s.grant.lock.stateKey) != 0 {
						w.t.Errorf("%s is not free", s.grant.lock.name)
					}
				}
			})
		})
	}
}

// warm gives a pool idle connections.
func (w *world) warm(rdb *redis.Client, many int) {
	w.t.Helper()
	var all sync.WaitGroup
	for range min(many, rdb.Options().PoolSize) {
		all.Go(func() {
			conn := rdb.Conn()
			_ = conn.Ping(w.t.Context()).Err()
			time.Sleep(time.Millisecond) // until all have one
			_ = conn.Close()
		})
	}
	all.Wait()
}
