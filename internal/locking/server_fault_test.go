package locking

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/busytest"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/servertest"
)

func TestRestartOfTheServerIsALoss(t *testing.T) {
	t.Parallel()
	w, server := private(t)
	ctx := w.ctx()
	l := w.locks()
	m := l.Mutex(w.name)
	h := w.must(m.Lock(ctx))
	w.ok(server.Kill())
	w.ok(server.Restart(ctx))
	if err := h.Unlock(ctx); !errors.Is(err, ErrLost) {
		t.Errorf("unlock: got %v, want ErrLost", err)
	}
	next := w.must(m.Lock(ctx))
	if next.Token() <= h.Token() {
		t.Errorf("token %d after %d", next.Token(), h.Token())
	}
	w.renewed(l)
	w.ok(next.Context().Err())
	w.ok(next.Unlock(ctx))
}

// Subscriptions are cut off again and again while two processes contend.
func TestWaitersEnterWhileSubscriptionsAreCutOff(t *testing.T) {
	t.Parallel()
	w, _ := private(t)
	rdb, ctx := w.client(), w.ctx()
	a, b := w.locks().Mutex(w.name), w.locks().Mutex(w.name)
	c := w.cycle(20, a, b, b)
	for range 10 {
		w.await(c, 5)
		w.ok(rdb.ClientKillByFilter(ctx, "TYPE", "pubsub").Err())
	}
	w.end(c)
	w.exclusive(c)
	if n := c.failures.Load(); n > 0 {
		t.Errorf("%d errors", n)
	}
	w.alternate(a, b, 8) // they work again
}

// The server's host is gone without a word, and another one has its address. The subscription does not notice by
// itself, and would wait for ever; the new server sees no subscriber, so it takes the process for dead.
func TestWaitersEnterAfterTheServersHostIsGone(t *testing.T) {
	virtual(t, func(w *world) {
		successor := newMemory(w.t, near)
		var place atomic.Pointer[memory]
		place.Store(w.memory)
		moving := func(o *redis.Options) { // as Sentinel's clients do it
			o.Dialer = func(context.Context, string, string) (net.Conn, error) { return place.Load().dial() }
			o.ReadTimeout, o.MaxRetries = 500*time.Millisecond, -1
		}
		a, b := w.locksOn(w.client(moving)).Mutex(w.name), w.locksOn(w.client(moving)).Mutex(w.name)
		w.alternate(a, b, 2)
		place.Store(successor)
		w.memory.Pause()
		for _, m := range []*Mutex{a, b} {
			w.soon("locks work again", func() bool {
				h, err := m.Lock(w.ctx(), Wait(time.Second))
				return err == nil && h.Unlock(w.ctx()) == nil
			})
		}
		rdb := w.client(moving)
		w.soon("both listen again", func() bool {
			return len(rdb.PubSubChannels(w.ctx(), wakeChannel("*")).Val()) == 2
		})
		w.alternate(a, b, 8)
	})
}

func TestAcquireIsRefusedWhenMemoryIsFull(t *testing.T) {
	t.Parallel()
	w, _ := private(t)
	rdb, ctx := w.client(), w.ctx()
	l := w.locks()
	outer := w.must(l.Mutex(w.name).Lock(ctx))
	inner := w.must(l.Mutex(w.name).Lock(outer.Context()))
	single := w.must(l.Mutex(w.name + "single").Lock(ctx))
	w.ok(rdb.ConfigSet(ctx, "maxmemory", "1").Err())

	if h, err := l.Mutex(w.name + "other").Lock(ctx); err == nil || h != nil || !redis.IsOOMError(err) {
		t.Errorf("acquired without memory: %v", err)
	}
	w.renewed(l)
	w.ok(single.Context().Err())
	w.ok(single.Unlock(ctx))
	w.ok(inner.Unlock(ctx))
	w.ok(outer.Unlock(ctx))
	if n := w.exists(rdb, outer.one().grant.lock.stateKey, single.one().grant.lock.stateKey); n != 0 {
		t.Errorf("%d locks are left", n)
	}
	w.ok(rdb.ConfigSet(ctx, "maxmemory", "0").Err())
	w.ok(w.must(l.Mutex(w.name + "other").Lock(ctx)).Unlock(ctx))
}

func TestWaitReplicasConfirmsAGrant(t *testing.T) {
	t.Parallel()
	w, server := private(t)
	rdb, ctx := w.client(), w.ctx()
	replica, err := servertest.StartReplica(ctx, server)
	w.ok(err)
	t.Cleanup(func() { w.ok(replica.Stop()) })
	const timeout = 200 * time.Millisecond
	l, tap := w.tapped(WaitReplicas(1, busytest.Patience/2))
	hasty := w.locks(WaitReplicas(1, timeout))
	m := l.Mutex(w.name)
	w.ok(w.must(w.locks().Mutex(w.name).Lock(ctx)).Unlock(ctx)) // the scripts are known now
	h := w.must(m.Lock(ctx))
	inner := w.must(m.Lock(h.Context()))
	if waits := tapWaits(tap); waits != 1 {
		t.Errorf("%d acquisitions waited for replicas, of one and a re-entry", waits)
	}
	w.ok(inner.Unlock(ctx))
	w.ok(h.Unlock(ctx))
	w.ok(rdb.ScriptFlush(ctx).Err())
	h = w.must(m.Lock(ctx))

	w.ok(replica.Pause())
	start := time.Now()
	if _, err := hasty.Mutex(w.name).TryLock(ctx); !errors.Is(err, ErrBusy) {
		t.Errorf("held by another: got %v, want ErrBusy", err)
	}
	w.ok(h.Unlock(ctx)) // it needs no replica
	if _, err := hasty.Mutex(w.name).Lock(ctx); !errors.Is(err, ErrNotReplicated) {
		t.Errorf("without its replica: got %v, want ErrNotReplicated", err)
	}
	if took := time.Since(start); took < timeout {
		t.Errorf("waited %s for the replica", took)
	}
	w.soon("it is cancelled", func() bool { return w.exists(rdb, m.stateKey) == 0 })
	if _, err := hasty.Mutex(w.name+"m").Lock(ctx, Wait(timeout/4)); err == nil {
		t.Error("granted although nobody has confirmed it")
	}
	w.ok(w.must(w.locks().Mutex(w.name).Lock(ctx)).Unlock(ctx)) // the others do not require it

	w.ok(replica.Resume())
	w.soon("the replica confirms again", func() bool {
		h, err := m.Lock(ctx)
		return err == nil && h.Unlock(ctx) == nil
	})
}

// tapWaits counts the WAIT commands that a tap has seen.
func tapWaits(p *tap) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, args := range p.seen {
		if args[0] == "wait" {
			n++
		}
	}
	return n
}

// Only what a caller may get must be confirmed: a lock that is busy is busy at once, though no replica answers.
func TestWaitReplicasWaitsForNoBusyLock(t *testing.T) {
	t.Parallel()
	w, _ := private(t)
	ctx := w.ctx()
	l, tap := w.tapped(WaitReplicas(1, time.Second))
	rival := w.locks()
	group := Group(w.name)
	for _, busy := range []Locker{
		rival.Mutex(w.name), rival.FairMutex(w.name), rival.RWMutex(w.name).Writer(), rival.Mutex("b", group), RedLock(w.name+"red", rival),
	} {
		w.must(busy.TryLock(ctx))
	}
	for name, lock := range map[string]Locker{
		"mutex":         l.Mutex(w.name),
		"fair":          l.FairMutex(w.name),
		"write":         l.RWMutex(w.name).Writer(),
		"read":          l.RWMutex(w.name).Reader(),
		"several":       MultiLock(l.Mutex("a", group), l.Mutex("b", group)),
		"several alone": MultiLock(l.FairMutex(w.name), l.Mutex(w.name)),
		"on a quorum":   RedLock(w.name+"red", l),
	} {
		if _, err := lock.TryLock(ctx); !errors.Is(err, ErrBusy) || errors.Is(err, ErrNotReplicated) {
			t.Errorf("%s: TryLock of a busy lock: %v, want ErrBusy alone", name, err)
		}
		if name == "several" {
			continue // to one who waits, the first part is granted
		}
		// On a busy machine the wait may run out before the answer.
		if _, err := lock.Lock(ctx, Wait(50*time.Millisecond)); !errors.Is(err, ErrBusy) && !errors.Is(err, ErrNoAnswer) || errors.Is(err, ErrNotReplicated) {
			t.Errorf("%s: Lock of a busy lock: %v, want ErrBusy or ErrNoAnswer, and nothing of replicas", name, err)
		}
	}
	if waits := tapWaits(tap); waits > 0 {
		t.Errorf("%d times WAIT without a grant", waits)
	}
}

// A copy of an acquisition that arrives over another connection cannot be distinguished from one that has waited there.
func TestWaitReplicasTrustsNoSecondCopy(t *testing.T) {
	t.Parallel()
	w, server := private(t)
	ctx := w.ctx()
	replica, err := servertest.StartReplica(ctx, server)
	w.ok(err)
	t.Cleanup(func() { w.ok(replica.Stop()) })
	l := w.locks(WaitReplicas(1, busytest.Patience/2))
	m := l.Mutex(w.name)
	w.ok(w.must(m.Lock(ctx)).Unlock(ctx))
	try := &scripts.Attempt{Number: l.numbers.Add(1)}
	id := l.process + ":copy"
	call := scripts.Acquire.NewCall(4, 5).With(m.clock(), m.tombstone(try.Number), m.stateKey, m.queueKey,
		try, time.Hour.Milliseconds(), id, scripts.QueueIgnore, 0)
	call.Replicated = 1
	run := func() error {
		_, err := l.server.Run(ctx, time.Now().Add(busytest.Patience), nil, call, try)
		return err
	}
	if err := run(); err != nil {
		t.Errorf("sent once: %v", err)
	}
	if err := run(); !errors.Is(err, ErrNotReplicated) {
		t.Errorf("sent twice: got %v, want ErrNotReplicated", err)
	}
}

func TestWaitReplicasRefusesNonsense(t *testing.T) {
	t.Parallel()
	one := redis.NewClient(&redis.Options{Addr: shared, ReadTimeout: time.Second})
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": shared}})
	t.Cleanup(func() { _, _ = one.Close(), ring.Close() })
	for name, test := range map[string]struct {
		rdb redis.UniversalClient
		opt Option
	}{
		"no replica":           {one, WaitReplicas(0, 100*time.Millisecond)},
		"no time":              {one, WaitReplicas(1, 0)},
		"longer than a read":   {one, WaitReplicas(1, time.Second)},
		"a ring":               {ring, WaitReplicas(1, 100*time.Millisecond)},
		"an unknown client":    {opaque{one}, WaitReplicas(1, 100*time.Millisecond)},
		"less than WAIT knows": {one, WaitReplicas(1, time.Microsecond)},
	} {
		if l, err := New(test.rdb, test.opt); !errors.Is(err, ErrInvalid) || l != nil {
			t.Errorf("%s: got %v, want ErrInvalid, no Locks", name, err)
		}
	}
}

func TestCheckServerFindsEviction(t *testing.T) {
	t.Parallel()
	w, _ := private(t)
	rdb, ctx := w.client(), w.ctx()
	l := w.locks()
	for _, test := range []struct {
		limit, policy string
		evicts        bool
	}{
		{"0", "allkeys-lru", false},
		{"100mb", "noeviction", false},
		{"100mb", "allkeys-lru", true},
		{"100mb", "volatile-ttl", true},
	} {
		w.ok(rdb.ConfigSet(ctx, "maxmemory-policy", test.policy).Err())
		w.ok(rdb.ConfigSet(ctx, "maxmemory", test.limit).Err())
		if err := l.CheckServer(ctx); errors.Is(err, ErrEviction) != test.evicts || err != nil != test.evicts {
			t.Errorf("%s of %s: %v", test.policy, test.limit, err)
		}
	}
	w.ok(l.Close())
	if err := l.CheckServer(ctx); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: got %v, want ErrClosed", err)
	}
}

// ringInside is a client that embeds a Ring.
type ringInside struct{ *redis.Ring }

// On a Ring no waiter is woken, so waiters poll, also if the Ring is inside another client.
func TestRingWaitersPoll(t *testing.T) {
	for name, inside := range map[string]func(*redis.Ring) redis.UniversalClient{
		"ring":     func(ring *redis.Ring) redis.UniversalClient { return ring },
		"embedded": func(ring *redis.Ring) redis.UniversalClient { return ringInside{ring} },
		"opaque":   func(ring *redis.Ring) redis.UniversalClient { return opaque{ring} },
	} {
		t.Run(name, func(t *testing.T) { onRing(t, inside) })
	}
}

func onRing(t *testing.T, inside func(*redis.Ring) redis.UniversalClient) {
	t.Helper()
	onRedis(t, func(w *world) {
		ctx := w.ctx()
		locks := func() *Locks {
			return w.locksOn(inside(w.ring()))
		}
		one, other := locks(), locks()
		for _, pair := range [][2]Locker{
			{one.Mutex(w.name), other.Mutex(w.name)},
			{one.FairMutex(w.name), other.FairMutex(w.name)},
			{one.RWMutex(w.name).Reader(), other.RWMutex(w.name).Writer()},
		} {
			h := w.must(pair[0].Lock(ctx))
			admitted := make(chan error, 1)
			go func() {
				h, err := pair[1].Lock(ctx)
				if err == nil {
					w.ok(h.Unlock(ctx))
				}
				admitted <- err
			}()
			w.soon("it waits", func() bool {
				other.mu.Lock()
				defer other.mu.Unlock()
				return len(other.states) > 0
			})
			w.ok(h.Unlock(ctx))
			w.ok(<-admitted)
		}
	})
}

// A client of one node of a cluster cannot follow redirects of the node, so its callers get them as errors.
func TestNodeOfAClusterAloneReturnsRedirects(t *testing.T) {
	onRedis(t, func(w *world) {
		ctx := w.ctx()
		l, tap := w.tapped()
		for m, script := range map[Locker]*scripts.Script{
			l.Mutex(w.name): scripts.Acquire, l.FairMutex(w.name): scripts.FifoAcquire,
		} {
			tap.on(script, func(cmd redis.Cmder, _ func() error) error {
				cmd.SetErr(w.client().Eval(ctx, "return redis.error_reply('MOVED 1 127.0.0.1:1')", nil).Err())
				return cmd.Err()
			})
			if _, err := m.Lock(ctx); err == nil || !strings.Contains(err.Error(), "MOVED") || ctx.Err() != nil {
				w.t.Errorf("%T: %v", m, err)
			}
		}
	})
}
