package locking

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A server that is 200 ms away, and has never seen a script or has forgotten all, costs no lock with a lease of a second: no
// answer of the watchdog takes two round trips.
func TestFarServerWithoutScripts(t *testing.T) {
	for client, keeps := range map[string]bool{"keeps deadlines": true, "keeps none": false} {
		t.Run(client, func(t *testing.T) {
			virtual(t, func(w *world) {
				w.memory.distance = 200 * time.Millisecond
				ctx, admin := w.t.Context(), w.client()
				w.ok(admin.Ping(ctx).Err())
				for kind, lock := range everyKind(w.name) {
					if onServers(kind) || kind == "several" {
						continue // a node has an eighth of the lease to answer, and one part after the other takes too long
					}
					for phase := range 8 { // of the watchdog
						w.ok(admin.ScriptFlush(ctx).Err())
						l := w.locksOn(w.client(func(o *redis.Options) { o.ContextTimeoutEnabled, o.MaxRetries = keeps, -1 }), WatchdogLease(time.Second))
						time.Sleep(time.Duration(phase) * 50 * time.Millisecond)
						h := w.must(lock([]*Locks{l, l, l}).Lock(ctx))
						for range 3 {
							time.Sleep(600 * time.Millisecond)
							w.ok(admin.ScriptFlush(ctx).Err())
						}
						if cause := context.Cause(h.Context()); cause != nil {
							w.t.Errorf("%s, phase %d: %v", kind, phase, cause)
						}
						_ = h.Unlock(ctx)
						w.ok(l.Close())
					}
				}
			})
		})
	}
}
