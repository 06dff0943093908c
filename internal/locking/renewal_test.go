package locking

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/busytest"
	"inventory/internal/locking/internal/server"
)

// A before runs a function before the first pipeline of a client.
type before struct {
	once sync.Once
	does func()
}

func (b *before) DialHook(next redis.DialHook) redis.DialHook { return next }

func (b *before) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (b *before) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		b.once.Do(b.does)
		return next(ctx, cmds)
	}
}

// until returns when a hold ends if it is not renewed.
func (h *Hold) until() time.Time {
	h.one().locks.mu.Lock()
	defer h.one().locks.mu.Unlock()
	return h.one().deadline
}

// renewDue renews all that is due, node by node, and reports whether all nodes answered.
func (l *Locks) renewDue(bound time.Duration) bool {
	all := true
	for node, due := range server.ByNode(l.server, l.due(), (*grant).key) {
		line := l.server.Line(node)
		all = l.renew(line, due, bound) && all
		line.Close()
	}
	return all
}

// renewed renews everything, and fails the test if anything is not.
func (w *world) renewed(l *Locks) {
	w.t.Helper()
	if !l.renewDue(busytest.Patience) {
		w.t.Error("not all were renewed")
	}
}

// Busy locks pass from owner to owner during a round of renewals: the idle ones are renewed anyway.
func TestHandoffsKeepNoOtherLockFromRenewal(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.t.Context()
		const busy, idle = 10, batch + 50
		other := w.client()
		l := w.locksOn(other, WatchdogLease(time.Hour)) // a busy machine takes its time
		var all sync.WaitGroup
		var holds []*Hold
		for i := range busy {
			m := l.Mutex(fmt.Sprint("busy", i), Group(w.name))
			holds = append(holds, w.must(m.Lock(ctx)))
			for _, successor := range w.lineUp(m, 2) {
				all.Go(func() { w.ok(w.must(<-successor.hold, <-successor.err).Unlock(ctx)) })
			}
		}
		var keys []string
		for i := range idle {
			h := w.must(l.Mutex(fmt.Sprint("idle", i), Group(w.name)).Lock(ctx))
			keys = append(keys, h.one().grant.lock.stateKey)
		}
		pipe := rdb.Pipeline()
		for _, key := range keys {
			pipe.PExpire(ctx, key, 10*time.Minute)
		}
		_, err := pipe.Exec(ctx)
		w.ok(err)
		other.AddHook(&before{does: func() {
			for _, h := range holds {
				all.Go(func() { w.ok(h.Unlock(ctx)) })
			}
			all.Wait()
		}})
		l.renewDue(busytest.Patience)
		short := 0
		for _, key := range keys {
			life, err := rdb.PTTL(w.t.Context(), key).Result()
			w.ok(err)
			if life < 30*time.Minute {
				short++
			}
		}
		if short > 0 {
			w.t.Errorf("%d of %d idle locks were not renewed", short, idle)
		}
	})
}

// The server refuses to renew some locks: the others are renewed anyway.
func TestRefusedRenewalKeepsNoOtherLockFromRenewal(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.t.Context()
		l := w.locks(WatchdogLease(time.Hour)) // a busy machine takes its time
		var keys []string
		for i := range batch + 50 {
			h := w.must(l.Mutex(fmt.Sprint(i), Group(w.name)).Lock(ctx))
			keys = append(keys, h.one().grant.lock.stateKey)
		}
		strange := keys[:20]
		for _, key := range strange {
			w.ok(rdb.Set(ctx, key, "something else", time.Hour).Err())
		}
		for _, key := range keys[len(strange):] {
			w.ok(rdb.PExpire(ctx, key, 10*time.Minute).Err())
		}
		if l.renewDue(busytest.Patience) {
			w.t.Error("all were renewed")
		}
		for _, key := range keys[len(strange):] {
			life, err := rdb.PTTL(w.t.Context(), key).Result()
			w.ok(err)
			if life < 30*time.Minute {
				w.t.Fatalf("%s lives for %s", key, life)
			}
		}
	})
}

// A server without memory renews, hands off and releases every kind of lock, and keeps waiters.
func TestEveryKindIsRenewedAndReleasedWithoutMemory(t *testing.T) {
	t.Parallel()
	w, _ := private(t)
	rdb, ctx := w.client(), w.ctx()
	l := w.locks()
	m := l.Mutex(w.name)
	rw := l.RWMutex(w.name)
	holds := map[string]*Hold{
		"mutex": w.must(m.Lock(ctx)),
		"fair":  w.must(l.FairMutex(w.name).Lock(ctx)),
		"write": w.must(rw.Writer().Lock(ctx)),
		"read":  w.must(l.RWMutex(w.name + "read").Reader().Lock(ctx)),
	}
	successors := w.lineUp(m, 2)
	w.renewed(l) // the scripts are known
	w.holdLong(holds["mutex"])
	w.ok(rdb.ConfigSet(ctx, "maxmemory", "1").Err())
	w.renewed(l)
	for kind, h := range holds {
		if err := h.Context().Err(); err != nil {
			t.Errorf("%s: %v", kind, context.Cause(h.Context()))
		}
		w.ok(h.Unlock(ctx))
	}
	for _, successor := range successors {
		w.ok(w.must(<-successor.hold, <-successor.err).Unlock(ctx))
	}
}

// A lease is trusted for less than the whole milliseconds that the server keeps it.
func TestLeaseInMilliseconds(t *testing.T) {
	virtual(t, func(w *world) {
		const lease, fraction = 20 * time.Millisecond, 999 * time.Microsecond
		fixed, watched := w.locks(), w.locks(WatchdogLease(lease+fraction))
		for m, opts := range map[Locker][]LockOption{
			fixed.Mutex(w.name): {Lease(lease + fraction)}, fixed.FairMutex(w.name): {Lease(lease + fraction)},
			watched.RWMutex(w.name).Reader(): nil,
		} {
			w.ok(w.must(m.Lock(w.ctx(), opts...)).Unlock(w.ctx())) // the script is known now, so one trip brings the lease
			before := time.Now()
			h := w.must(m.Lock(w.ctx(), opts...))
			if trusted := time.Since(before) + h.Remaining(); trusted > trust(lease) {
				w.t.Errorf("%T is trusted for %s", m, trusted)
			}
		}
	})
}

// A hold that came while a renewal was on its way may have a longer lease than that gave to the lock: it goes by its own call.
func TestRenewalSentBeforeAHoldCameDoesNotExtendIt(t *testing.T) {
	each(t, func(w *world) {
		l := w.locks()
		m := l.Mutex(w.name)
		outer := w.must(m.Lock(w.ctx()))
		longer := func(acq *acquisition) error { // as a MultiLock with a fixed lease, until it has all parts
			acq.lease = time.Minute
			return nil
		}
		inner, err := m.acquire(outer.Context(), false, []LockOption{longer})
		w.ok(err)
		promised := inner.until()
		l.renewed(inner.grant, inner.since.Add(-time.Nanosecond))
		if got := inner.until(); !got.Equal(promised) {
			w.t.Errorf("it is trusted for %s longer than the server keeps it", got.Sub(promised))
		}
		w.ok(inner.Unlock(w.ctx()))
		w.ok(outer.Unlock(w.ctx()))
	})
}
