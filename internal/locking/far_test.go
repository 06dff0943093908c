package locking

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
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

// The same holds of the masters of a cluster. The client has used each of them before: to learn the slots and to connect takes
// longer than the lease.
func TestFarClusterWithoutScriptsCostsNoLock(t *testing.T) {
	fleetOf(t, 3, func(_ *testing.T, f *fleet) {
		for phase := range 8 { // of the watchdog
			f.holdFromACluster(phase)
		}
	})
}

func (f *fleet) holdFromACluster(phase int) {
	const distance, lease = 200 * time.Millisecond, time.Second
	ctx := f.t.Context()
	var admins []*redis.Client
	for i := range f.servers {
		f.servers[i].distance = distance
		admins = append(admins, f.node(i))
	}
	rdb := f.cluster(func() { time.Sleep(distance) }) // the handshake of TCP
	defer func() { f.ok(rdb.Close()) }()
	f.ok(rdb.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return node.Ping(ctx).Err() }))
	l := f.locksOn(rdb, WatchdogLease(lease))
	forget := func() {
		for _, admin := range admins {
			f.ok(admin.ScriptFlush(ctx).Err())
		}
	}
	forget()
	time.Sleep(time.Duration(phase) * 50 * time.Millisecond)
	holds := make(map[string]*Hold) // by master
	for i := 0; len(holds) < len(f.servers); i++ {
		m := l.Mutex(fmt.Sprint(f.name, phase, "-", i))
		master, err := rdb.MasterForKey(ctx, m.stateKey)
		f.ok(err)
		if addr := master.Options().Addr; holds[addr] == nil {
			holds[addr] = f.must(m.Lock(ctx))
		}
	}
	for range 4 {
		time.Sleep(lease * 3 / 5)
		forget()
	}
	for addr, h := range holds {
		if cause := context.Cause(h.Context()); cause != nil {
			f.t.Errorf("phase %d, master %s: %v", phase, addr, cause)
		}
		_ = h.Unlock(ctx)
	}
	f.ok(l.Close())
}

// cluster returns a client of a cluster of the servers, each a master of its part of the slots. It calls dials before it connects.
func (f *fleet) cluster(dials func()) *redis.ClusterClient {
	const slots = 1 << 14
	parts := make([]redis.ClusterSlot, len(f.servers))
	for i := range parts {
		parts[i] = redis.ClusterSlot{
			Start: i * slots / len(parts), End: (i+1)*slots/len(parts) - 1,
			Nodes: []redis.ClusterNode{{Addr: net.JoinHostPort("node", strconv.Itoa(i))}},
		}
	}
	return redis.NewClusterClient(&redis.ClusterOptions{
		DisableIdentity:          true,
		ReadTimeout:              2 * time.Second,
		PoolSize:                 1000, // timers of the pool survive the bubble: no caller may wait for a connection
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		ClusterSlots:             func(context.Context) ([]redis.ClusterSlot, error) { return parts, nil },
		Dialer: func(_ context.Context, _, addr string) (net.Conn, error) {
			dials()
			_, port, _ := net.SplitHostPort(addr)
			i, err := strconv.Atoi(port)
			f.ok(err)
			return f.servers[i].dial()
		},
	})
}
