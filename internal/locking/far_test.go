package locking

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Servers that are 200 ms away, and have never seen a script or have forgotten all, cost no lock with a lease of a second, also
// if they must be connected to first: no answer of the watchdog takes two round trips. A node of a RedLock has an eighth of the
// lease to answer, 250 ms at most, and a connection and a script take four trips: so these nodes are nearer.
func TestFarServerWithoutScriptsCostsNoLock(t *testing.T) {
	for client, keeps := range map[string]bool{"keeps deadlines": true, "keeps none": false} {
		for kind, lock := range everyKind(t.Name()) {
			t.Run(client+"/"+kind, func(t *testing.T) {
				fleetOf(t, 3, func(_ *testing.T, f *fleet) {
					for phase := range 8 { // of the watchdog
						f.holdFromAfar(kind, lock, keeps, phase)
					}
				})
			})
		}
	}
}

func (f *fleet) holdFromAfar(kind string, lock func([]*Locks) Locker, keeps bool, phase int) {
	distance, lease := 200*time.Millisecond, time.Second
	if kind == "on a quorum" || kind == "of all" {
		distance, lease = 50*time.Millisecond, 2*time.Second
	}
	ctx := f.t.Context()
	var admins []*redis.Client
	var all []*Locks
	for i := range f.servers {
		f.servers[i].distance = distance
		admins = append(admins, f.node(i))
		all = append(all, f.locksOn(f.node(i, func(o *redis.Options) {
			o.ContextTimeoutEnabled, o.MaxRetries = keeps, -1
			dial := o.Dialer
			o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				time.Sleep(distance) // the handshake of TCP
				return dial(ctx, network, addr)
			}
		}), WatchdogLease(lease)))
	}
	forget := func() {
		for _, admin := range admins {
			f.ok(admin.ScriptFlush(ctx).Err())
		}
	}
	forget()
	time.Sleep(time.Duration(phase) * 50 * time.Millisecond)
	h, err := lock(all).Lock(ctx)
	if err != nil {
		f.t.Errorf("phase %d: %v", phase, err)
		return
	}
	for range 3 {
		time.Sleep(lease * 3 / 5)
		forget()
	}
	if cause := context.Cause(h.Context()); cause != nil {
		f.t.Errorf("phase %d: %v", phase, cause)
	}
	_ = h.Unlock(ctx)
	closeAll(all)
}
