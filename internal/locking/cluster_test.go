package locking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"inventory/internal/busytest"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/servertest"
)

// A clustered is a world on a Redis Cluster.
type clustered struct {
	*world
	cluster *servertest.Cluster
}

// TestCluster runs on one cluster, one test after the other: some of them damage it, and repair it.
func TestCluster(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	cluster, err := servertest.StartCluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	type part struct {
		name string
		run  func(w *clustered)
	}
	tests := []part{
		{"Cycles", clusterCycles},
		{"Verbs", clusterVerbs},
		{"WakeUps", clusterWakeUps},
		{"Queue", clusterQueue},
		{"Renewals", clusterRenewals},
		{"MultiLock", clusterMultiLock},
		{"Order", clusterOrder},
		{"DeadProcessInQueue", clusterDeadProcess},
		{"Replicas", clusterReplicas},
		{"Failover", clusterFailover},
		{"Migration", clusterMigration},
		{"Refusals", clusterRefusals},
		{"PausedMaster", clusterPausedMaster},
		{"Death", clusterDeath},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.run(&clustered{&world{t: t, name: t.Name()}, cluster})
			if err := cluster.Settled(t.Context()); err != nil { // for the next test
				t.Fatal(err)
			}
		})
	}
}

// client returns a new client of the cluster, which waits that long for an answer.
func (w *clustered) client(patience time.Duration) *redis.ClusterClient {
	w.t.Helper()
	rdb := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: w.cluster.Addrs(), DisableIdentity: true, ReadTimeout: patience, PoolTimeout: busytest.Patience,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	w.t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// locks returns new Locks, like those of another process.
func (w *clustered) locks(opts ...Option) *Locks {
	w.t.Helper()
	return w.locksOn(w.client(busytest.Patience), opts...)
}

// slot returns the slot of a lock.
func (w *clustered) slot(m *Mutex) int {
	w.t.Helper()
	slot, err := w.cluster.Slot(w.t.Context(), m.stateKey)
	w.ok(err)
	return slot
}

// master returns the node that has a lock.
func (w *clustered) master(m *Mutex) *servertest.Redis {
	w.t.Helper()
	master, err := w.cluster.Master(w.t.Context(), w.slot(m))
	w.ok(err)
	return master
}

// names returns names of locks, one on each master.
func (w *clustered) names(l *Locks) []string {
	w.t.Helper()
	var names []string
	var masters []*servertest.Redis
	for i := 0; len(names) < 3; i++ {
		name := fmt.Sprint(w.name, i)
		if master := w.master(l.Mutex(name)); !slices.Contains(masters, master) {
			names, masters = append(names, name), append(masters, master)
		}
	}
	return names
}

func clusterCycles(w *clustered) {
	a, b := w.locks(), w.locks()
	for _, name := range w.names(a) {
		c := w.cycle(20, a.Mutex(name), b.Mutex(name), a.Mutex(name), b.Mutex(name))
		w.end(c)
		w.exclusive(c)
		if n := c.failures.Load(); n > 0 {
			w.t.Errorf("%d errors", n)
		}
	}
}

// The other verbs of a lock go to the node that has it.
func clusterVerbs(w *clustered) {
	ctx := w.ctx()
	l := w.locks()
	for _, name := range w.names(l) {
		m := l.Mutex(name)
		h := w.must(m.Lock(ctx))
		inner := w.must(m.Lock(h.Context()))
		if inner.Token() != h.Token() || m.Count(h.Context()) != 2 {
			w.t.Errorf("re-entry: token %d after %d, %d holds", inner.Token(), h.Token(), m.Count(h.Context()))
		}
		w.ok(inner.Unlock(ctx))
		far := h.Token() + time.Hour.Microseconds()
		if token, err := h.TokenAbove(ctx, far); err != nil || token <= far {
			w.t.Errorf("token %d above %d: %v", token, far, err)
		}
		if state, err := m.Inspect(ctx); err != nil || len(state.Holders) != 1 || state.Holders[0].Owner != h.Owner() {
			w.t.Errorf("held by %q, is told %+v: %v", h.Owner(), state, err)
		}
		if forced, err := m.ForceUnlock(ctx); err != nil || !forced {
			w.t.Errorf("forced: %t, %v", forced, err)
		}
		if err := h.Unlock(ctx); !errors.Is(err, ErrLost) {
			w.t.Errorf("unlock: got %v, want ErrLost", err)
		}
	}
	w.ok(l.CheckServer(ctx))
}

func clusterWakeUps(w *clustered) {
	a, b := w.locks(), w.locks()
	for _, name := range w.names(a) { // a subscription is on one of the nodes, and the lock may be on another
		w.alternate(a.Mutex(name), b.Mutex(name), 8)
	}
}

// A release wakes one process and leaves the positions of the others, although the publishing node sees no listener.
// There are two listeners and three nodes, so this happens on one of them.
func clusterQueue(w *clustered) {
	ctx := w.ctx()
	a, b, c := w.locks(), w.locks(), w.locks()
	for _, name := range w.names(a) {
		queue := a.Mutex(name).queueKey
		h := w.must(a.Mutex(name).Lock(ctx))
		admitted := make(chan *Hold, 2)
		wait := func(l *Locks) {
			go func() {
				h, err := l.Mutex(name).Lock(ctx)
				if err != nil {
					w.t.Error(err)
				}
				admitted <- h
			}()
			w.soon("it waits in the queue", func() bool { return w.waits(l.Mutex(name)) })
		}
		wait(b)
		wait(c)
		before := c.server.Client.ZScore(ctx, queue, c.process).Val()
		w.ok(h.Unlock(ctx))
		h = <-admitted
		if h == nil || h.one().grant.lock.locks != b {
			w.t.Fatal("the first in the queue was not the first to get in")
		}
		if after := c.server.Client.ZScore(ctx, queue, c.process).Val(); after != before {
			w.t.Errorf("the second has lost its place %.0f, and has %.0f", before, after)
		}
		w.ok(h.Unlock(ctx))
		if h = <-admitted; h != nil {
			w.ok(h.Unlock(ctx))
		}
	}
}

// Renewals go to several nodes in one pipeline, also when these have forgotten the script.
func clusterRenewals(w *clustered) {
	ctx, rdb := w.ctx(), w.client(busytest.Patience)
	l := w.locks()
	var holds []*Hold
	for i := range 30 {
		holds = append(holds, w.must(l.Mutex(fmt.Sprint(w.name, i)).Lock(ctx)))
	}
	for range 10 {
		w.ok(rdb.ForEachMaster(ctx, flushScripts))
		w.renewed(l)
	}
	for _, h := range holds {
		w.ok(h.Context().Err())
	}
	w.ok(rdb.ForEachMaster(ctx, flushScripts))
	for _, h := range holds {
		w.ok(h.Unlock(ctx))
	}
	w.ok(rdb.ForEachMaster(ctx, flushScripts))
	w.ok(w.must(l.Mutex(w.name).Lock(ctx)).Unlock(ctx))
}

func clusterMultiLock(w *clustered) {
	ctx := w.ctx()
	a, b := w.locks(), w.locks()
	names := w.names(a)
	lockOf := func(l *Locks, order ...int) Locker {
		var parts []Locker
		for _, i := range order {
			parts = append(parts, l.Mutex(names[i]))
		}
		return MultiLock(parts...)
	}
	guards := []*guard{{t: w.t}, {t: w.t}, {t: w.t}}
	done := make(chan error)
	orders := []Locker{lockOf(a, 0, 1, 2), lockOf(b, 2, 1, 0), lockOf(a, 1, 2), lockOf(b, 2, 0)}
	for _, m := range orders {
		go func() {
			for range 10 {
				h, err := m.Lock(ctx)
				if err != nil {
					done <- err
					return
				}
				for _, part := range h.Parts() {
					guards[slices.Index(names, part.one().grant.lock.name)].work(part, time.Millisecond)
				}
				w.ok(h.Unlock(ctx))
			}
			done <- nil
		}()
	}
	for range orders {
		w.ok(<-done)
	}
	for i, g := range guards {
		if _, stale, overlaps := g.seen(); stale > 0 || overlaps > 0 {
			w.t.Errorf("part %d: %d stale tokens, %d overlaps", i, stale, overlaps)
		}
	}
}

// All callers take the locks of two clusters in the same order, whatever the order of the seeds.
func clusterOrder(w *clustered) {
	seeds := w.cluster.Addrs()
	address := func(seeds ...string) string {
		rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: seeds})
		defer func() { _ = rdb.Close() }()
		return w.locksOn(rdb).address
	}
	if one, other := address(seeds[0], seeds[1]), address(seeds[1], seeds[0]); one != other || one == "" {
		w.t.Errorf("one cluster is %q and %q", one, other)
	}
	if one, other := address(seeds[0]), address(seeds[1]); one == other {
		w.t.Errorf("two clusters are both %q", one)
	}
}

// A process that died in the queue costs the others a poll or two, because PUBLISH cannot show that no process listens.
func clusterDeadProcess(w *clustered) {
	ctx, rdb, tries := w.ctx(), w.client(busytest.Patience), &tap{}
	rdb.AddHook(tries)
	a, b := w.locks(), w.locksOn(rdb)
	m, other := a.Mutex(w.name), b.Mutex(w.name)
	h := w.must(m.Lock(ctx))
	w.ok(a.server.Client.ZAdd(ctx, m.queueKey, redis.Z{Score: 1, Member: "dead"}).Err())
	admitted := make(chan *Hold, 1)
	go func() { admitted <- w.must(other.Lock(ctx)) }()
	w.soon("it waits in the queue", func() bool { return w.waits(other) })
	w.ok(h.Unlock(ctx))
	before := len(tapArgs(tries, scripts.Acquire))
	next := busytest.Receive(w.t, "the other one is admitted", admitted)
	if n := len(tapArgs(tries, scripts.Acquire)) - before; n > 3 { // while the lock is kept for the dead process, and after that
		w.t.Errorf("admitted at try %d", n)
	}
	w.ok(next.Unlock(ctx))
}

func clusterReplicas(w *clustered) {
	ctx := w.ctx()
	l := w.locks(WaitReplicas(1, busytest.Patience/2))
	for _, name := range w.names(l) {
		w.ok(w.must(l.Mutex(name).Lock(ctx)).Unlock(ctx))
	}
	w.ok(l.server.Client.(*redis.ClusterClient).ForEachMaster(ctx, flushScripts))
	m := l.Mutex(w.name)
	w.ok(w.must(m.Lock(ctx)).Unlock(ctx))
	masters, err := w.cluster.Masters(ctx)
	w.ok(err)
	w.ok(w.cluster.MigrateSlot(ctx, w.slot(m), masters[(slices.Index(masters, w.master(m))+1)%len(masters)], nil))
	w.ok(w.must(m.Lock(ctx)).Unlock(ctx)) // the client learns it from this call

	rdb := w.client(busytest.Patience)
	_, err = rdb.MasterForKey(ctx, m.stateKey) // it looks at the cluster now: later it might ask a node that is silent
	w.ok(err)
	var replicas []*servertest.Redis
	for _, node := range w.cluster.Nodes() {
		if !slices.Contains(masters, node) {
			w.ok(node.Pause())
			replicas = append(replicas, node)
		}
	}
	if _, err := w.locksOn(rdb, WaitReplicas(1, 300*time.Millisecond)).Mutex(w.name).Lock(ctx); !errors.Is(err, ErrNotReplicated) {
		w.t.Errorf("without replicas: got %v, want ErrNotReplicated", err)
	}
	w.soon("it is cancelled", func() bool { return l.server.Client.Exists(ctx, m.stateKey).Val() == 0 })
	for _, node := range replicas {
		w.ok(node.Resume())
	}
	w.soon("it works again", func() bool {
		h, err := m.Lock(ctx)
		return err == nil && h.Unlock(ctx) == nil
	})
}

// A slot moves while its lock is held, renewed, waited for and taken.
func clusterMigration(w *clustered) {
	ctx := w.ctx()
	a, b := w.locks(), w.locks()
	m, other := a.Mutex(w.name), b.Mutex(w.name)
	masters, err := w.cluster.Masters(ctx)
	w.ok(err)
	next := func() *servertest.Redis {
		return masters[(slices.Index(masters, w.master(m))+1)%len(masters)]
	}

	h := w.must(m.Lock(ctx))
	beside := map[string]*Hold{ // in the same slot
		"fair":  w.must(a.FairMutex(w.name).Lock(ctx)),
		"write": w.must(a.RWMutex(w.name).Writer().Lock(ctx)),
		"read":  w.must(a.RWMutex("read", Group(w.name)).Reader().Lock(ctx)),
	}
	admitted := make(chan *Hold, 1)
	go func() {
		got, err := other.Lock(ctx)
		if err != nil {
			w.t.Error(err)
		}
		admitted <- got
	}()
	w.soon("it waits in the queue", func() bool { return w.waits(other) })
	w.ok(w.cluster.MigrateSlot(ctx, w.slot(m), next(), func() { w.renewed(a) }))
	w.ok(h.Context().Err())
	w.ok(h.Unlock(ctx))
	for kind, h := range beside {
		if err := h.Context().Err(); err != nil {
			w.t.Errorf("%s: %v", kind, context.Cause(h.Context()))
		}
		w.ok(h.Unlock(ctx))
	}
	second := <-admitted
	if second == nil || second.Token() <= h.Token() {
		w.t.Fatal("the other one was not admitted with a higher token")
	}

	released := make(chan error, 1)
	w.ok(w.cluster.MigrateSlot(ctx, w.slot(m), next(), func() {
		go func() { released <- second.Unlock(ctx) }()
		time.Sleep(500 * time.Millisecond) // tries may happen meanwhile
	}))
	w.ok(<-released)

	c := w.cycle(20, m, other, m, other)
	for range 6 {
		w.await(c, 5)
		w.ok(w.cluster.MigrateSlot(ctx, w.slot(m), next(), func() { time.Sleep(50 * time.Millisecond) }))
	}
	w.end(c)
	w.exclusive(c)
	if n := c.failures.Load(); n > 0 {
		w.t.Errorf("%d errors", n)
	}
}

// A node that refuses scripts answers nobody wrongly: nobody is in the way, and nothing is lost. It refuses them while their
// slot moves, and while the cluster is down.
func clusterRefusals(w *clustered) {
	ctx, step := w.steps()
	m := w.locks().Mutex(w.name)
	slot, master := w.slot(m), w.master(m)
	masters, err := w.cluster.Masters(ctx)
	w.ok(err)
	next := masters[(slices.Index(masters, master)+1)%len(masters)]
	kinds := map[string]func(l *Locks, name string) offered{ // all in one slot
		"mutex": func(l *Locks, name string) offered { return l.Mutex(name, Group(w.name)) },
		"fair":  func(l *Locks, name string) offered { return l.FairMutex(name, Group(w.name)) },
		"write": func(l *Locks, name string) offered { return l.RWMutex(name, Group(w.name)).Writer() },
		"read":  func(l *Locks, name string) offered { return l.RWMutex(name, Group(w.name)).Reader() },
	}
	refused := func(what string, refusing func(meanwhile func())) {
		held := make(map[string]*Hold)
		for kind, lock := range kinds {
			held[kind] = w.must(lock(w.locks(WatchdogLease(time.Hour)), what+kind).Lock(ctx)) // nothing renews it meanwhile
		}
		refusing(func() {
			for kind, lock := range kinds {
				step()
				l := w.locks()
				free := lock(l, what+kind+"free")
				_, err := free.TryLock(ctx, Wait(100*time.Millisecond))
				w.unknown(what+" "+kind+" try", err)
				_, err = free.Lock(ctx, Wait(100*time.Millisecond))
				w.unknown(what+" "+kind+" lock", err)
				_, err = MultiLock(free, lock(l, what+kind+"other")).Lock(ctx, Wait(100*time.Millisecond))
				w.unknown(what+" "+kind+" several", err)
				_, err = free.Inspect(ctx)
				w.unknown(what+" "+kind+" inspect", err)
				_, err = free.ForceUnlock(ctx)
				w.unknown(what+" "+kind+" force", err)
			}
		})
		step()
		for kind, lock := range kinds {
			w.renewed(held[kind].one().locks)
			w.ok(held[kind].Context().Err())
			w.ok(held[kind].Unlock(ctx))
			for _, name := range []string{"", "free", "other"} {
				w.ok(w.must(lock(w.locks(), what+kind+name).Lock(ctx)).Unlock(ctx))
			}
		}
	}
	refused("a slot that moves", func(meanwhile func()) {
		w.ok(w.cluster.MigrateSlot(ctx, slot, next, meanwhile))
	})
	rdb := redis.NewClient(&redis.Options{Addr: next.Addr(), DisableIdentity: true})
	w.t.Cleanup(func() { _ = rdb.Close() })
	refused("a cluster that is down", func(meanwhile func()) {
		w.ok(rdb.ClusterDelSlots(ctx, slot).Err())
		meanwhile()
		w.ok(rdb.ClusterAddSlots(ctx, slot).Err())
		w.ok(w.cluster.Settled(ctx))
	})
}

// An orderly failover loses nothing.
func clusterFailover(w *clustered) {
	ctx := w.ctx()
	a, b := w.locks(), w.locks()
	m := a.Mutex(w.name)
	c := w.cycle(20, m, b.Mutex(w.name), b.Mutex(w.name))
	w.await(c, 5)
	before := w.master(m)
	w.ok(w.cluster.Failover(ctx, w.slot(m)))
	if w.master(m) == before {
		w.t.Errorf("the master is the same: got %v, want not %v", w.master(m), before)
	}
	w.await(c, 20)
	w.end(c)
	w.exclusive(c)
}

// A node that stands still loses at most its own locks.
func clusterPausedMaster(w *clustered) {
	ctx := w.ctx()
	l := w.locksOn(w.client(2*time.Second), WatchdogLease(time.Hour))
	var holds []*Hold
	for _, name := range w.names(l) {
		holds = append(holds, w.must(l.Mutex(name).Lock(ctx)))
	}
	before := make([]time.Time, len(holds))
	for i, h := range holds {
		before[i] = h.until()
	}
	paused := w.master(l.Mutex(holds[0].one().grant.lock.name))
	w.ok(paused.Pause())
	w.soon("the locks of the other nodes are renewed", func() bool {
		_ = l.renewDue(time.Second) // the promoted replica may answer for that node
		return before[1].Before(holds[1].until()) && before[2].Before(holds[2].until())
	})
	for _, h := range holds[1:] {
		if err := context.Cause(h.Context()); err != nil {
			w.t.Errorf("a lock of another node: %v", err)
		}
		w.ok(h.Unlock(ctx))
	}
	w.ok(paused.Resume())
	_ = holds[0].Unlock(ctx)
}

// A master dies during cycles. Locks that it had not sent to its replica are lost, so errors and two holders at once are
// possible. No token may be given twice, and the guard must not accept one out of order.
func clusterDeath(w *clustered) {
	a, b := w.locks(), w.locks()
	m := a.Mutex(w.name)
	c := w.cycle(30, m, b.Mutex(w.name), b.Mutex(w.name))
	w.await(c, 5)
	dead := w.master(m)
	w.ok(dead.Kill())
	w.ok(w.cluster.Settled(w.ctx()))
	w.await(c, 20) // the locks go on with the cluster
	w.ok(dead.Restart(w.ctx()))
	w.end(c)
}
