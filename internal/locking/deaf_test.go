package locking

import (
	"bytes"
	"context"
	"errors"
	"math"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/servertest"
)

// turnLimit is how long the documents let a process wait for its turn when wake-ups do not reach it, and as much again for a
// busy machine.
const turnLimit = 4 * time.Second

// mostOvertaken is how often a process may be overtaken in six turns while it stands in the queue, once it knows how it is woken:
// by a hand-over that was under way.
const mostOvertaken = 2

// A greedy process locks, works for a moment and unlocks without end, until its test ends.
type greedy struct {
	has   chan struct{}
	times atomic.Int64 // how often it has had the lock
}

// greedy starts one that pauses after each unlock.
func (w *world) greedy(l offered, pause time.Duration) *greedy {
	ctx, cancel := context.WithCancel(w.t.Context())
	var loop sync.WaitGroup
	g := &greedy{has: make(chan struct{}, 1)}
	loop.Go(func() {
		for ctx.Err() == nil {
			if h, err := l.Lock(ctx); err == nil {
				g.times.Add(1)
				select {
				case g.has <- struct{}{}:
				default:
				}
				time.Sleep(2 * time.Millisecond)
				_ = h.Unlock(ctx)
			}
			time.Sleep(pause)
		}
	})
	w.t.Cleanup(func() {
		cancel()
		loop.Wait()
	})
	return g
}

// again waits until the greedy process has the lock once more.
func (w *world) again(g *greedy) {
	w.t.Helper()
	select {
	case <-g.has: // perhaps of before
	default:
	}
	select {
	case <-g.has:
	case <-time.After(patience):
		w.t.Error("the greedy one itself waits in vain")
	}
}

// takesTurns takes a lock a few times, each after somebody greedy has had it, and fails the test if it does not come in time.
// It returns how often the greedy one has had the lock while this one stood in the queue.
func (w *world) takesTurns(m *Mutex, g *greedy) (overtaken int64) {
	w.t.Helper()
	for turn := range 6 {
		w.again(g)
		start, granted := time.Now(), make(chan struct{})
		var before atomic.Int64
		var watch sync.WaitGroup
		before.Store(math.MaxInt64)
		watch.Go(func() {
			for !w.waits(m) {
				select {
				case <-granted: // at once
					return
				case <-time.After(time.Millisecond):
				}
			}
			before.Store(g.times.Load())
		})
		h := w.must(m.Lock(w.ctx()))
		after := g.times.Load() // exact: the greedy one cannot get it before the unlock
		close(granted)
		watch.Wait()
		if took := time.Since(start); took > turnLimit {
			w.t.Errorf("turn %d came after %s, want %s", turn, took, turnLimit)
		}
		overtaken += max(0, after-before.Load())
		w.ok(h.Unlock(w.ctx()))
	}
	w.again(g)
	return overtaken
}

// learns takes turns until a process knows that PUBLISH does not count it. It learns that when it finds that it was taken out of
// the queue; not as long as the message comes, and finds the lock free.
func (w *world) learns(m *Mutex, g *greedy) {
	w.t.Helper()
	w.takesTurns(m, g)
	for start := time.Now(); m.locks.subscription.Counted(); w.takesTurns(m, g) {
		if time.Since(start) > patience {
			w.t.Fatal("it does not learn that nobody counts it")
		}
	}
}

// besideGreedy runs a test for a process that locks again at once, and for one that pauses for a hop.
func besideGreedy(t *testing.T, test func(w *world, pause time.Duration)) {
	t.Helper()
	t.Parallel()
	for name, pause := range map[string]time.Duration{"at once": 0, "hops": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			onRedis(t, func(w *world) { test(w, pause) })
		})
	}
}

// user returns the settings of a client whose user has some rights less.
func (w *world) user(name string, but ...any) func(*redis.Options) {
	w.t.Helper()
	name += w.name
	w.ok(w.client().Do(w.ctx(), append([]any{"acl", "setuser", name, "on", ">secret", "~lk:*", "&lk:wake:*", "+@all"}, but...)...).Err())
	return func(o *redis.Options) { o.Username, o.Password = name, "secret" }
}

func TestWaiterGetsItsTurnWithoutTheRightToSubscribe(t *testing.T) {
	besideGreedy(t, func(w *world, pause time.Duration) {
		seen := &diary{}
		may, mayNot := w.user("may"), w.user("maynot", "-subscribe")
		g := w.greedy(w.locksOn(w.client(may)).Mutex(w.name), pause)
		l := w.locksOn(w.client(mayNot), Observe(seen))
		w.takesTurns(l.Mutex(w.name), g)
		if told := seen.polling(); len(told) != 1 || told[0] == "" {
			w.t.Errorf("the observer is told %q of a refused subscription, want a reason once", told)
		}
		w.user("maynot", "+subscribe")
		w.soon("it is told that wake-ups come again", func() bool { told := seen.polling(); return len(told) == 2 && told[1] == "" })
		w.takesTurns(l.Mutex(w.name), g)
	})
}

func TestTwoGetTheirTurnsWithoutTheRightToSubscribe(t *testing.T) {
	besideGreedy(t, func(w *world, pause time.Duration) {
		mayNot := w.user("maynot", "-subscribe")
		g := w.greedy(w.locksOn(w.client(mayNot)).Mutex(w.name), pause)
		w.takesTurns(w.locksOn(w.client(mayNot)).Mutex(w.name), g)
	})
}

func TestWaiterGetsItsTurnWithoutTheRightToPublish(t *testing.T) {
	besideGreedy(t, func(w *world, pause time.Duration) {
		mayNot := w.user("maynot", "-publish")
		g := w.greedy(w.locksOn(w.client(mayNot)).Mutex(w.name), pause)
		w.takesTurns(w.locksOn(w.client(mayNot)).Mutex(w.name), g)
	})
}

func TestWaiterGetsItsTurnOnARing(t *testing.T) {
	besideGreedy(t, func(w *world, pause time.Duration) {
		ring := func() *Locks {
			rdb := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": w.addr, "b": three[1].Addr(), "c": three[2].Addr()}, DisableIdentity: true})
			w.t.Cleanup(func() { _ = rdb.Close() })
			return w.locksOn(rdb)
		}
		g := w.greedy(ring().Mutex(w.name), pause)
		w.takesTurns(ring().Mutex(w.name), g)
	})
}

// A listening is a connection that goes another way once it subscribes.
type listening struct {
	net.Conn
	elsewhere func(own net.Conn) (net.Conn, error)
}

func (c *listening) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("subscribe")) {
		other, err := c.elsewhere(c.Conn)
		if err != nil {
			return 0, err
		}
		c.Conn = other
	}
	return c.Conn.Write(p)
}

// listensBy makes the connections of a client that subscribe go another way.
func listensBy(elsewhere func(own net.Conn) (net.Conn, error)) func(*redis.Options) {
	return func(o *redis.Options) {
		o.Protocol = 2 // the other connection needs no greeting
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			return &listening{Conn: conn, elsewhere: elsewhere}, err
		}
	}
}

// A detour brings what a server sends a little later than the answers of others.
type detour struct{ net.Conn }

func (c *detour) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	time.Sleep(5 * time.Millisecond)
	return n, err
}

// Messages arrive by way of a replica, so PUBLISH counts no listener at the master. The same is true of some proxies.
func TestWaiterGetsItsTurnWherePublishCountsNobody(t *testing.T) {
	replica, err := servertest.StartReplica(t.Context(), three[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := replica.Stop(); err != nil {
			t.Error(err)
		}
	})
	besideGreedy(t, func(w *world, pause time.Duration) {
		byReplica := listensBy(func(own net.Conn) (net.Conn, error) {
			_ = own.Close()
			conn, err := net.Dial("tcp", replica.Addr())
			return &detour{conn}, err
		})
		g := w.greedy(w.locksOn(w.client(byReplica)).Mutex(w.name), pause)
		// Messages come, so luck would give it the lock in the end; with a place in the queue it needs none.
		other := w.locksOn(w.client(byReplica)).Mutex(w.name)
		w.learns(other, g)
		if n := w.takesTurns(other, g); n > mostOvertaken {
			w.t.Errorf("the greedy one had the lock %d times while the other stood in the queue for 6 turns, want at most %d", n, mostOvertaken)
		}
	})
}

// FAILOVER makes the master a replica, which goes on answering pings. So subscriptions stay there, while all else goes to the
// new master, as Sentinel's clients and proxies do it.
func TestWaiterGetsItsTurnAfterAFailoverByCommand(t *testing.T) {
	t.Parallel()
	w, old := private(t)
	successor, err := servertest.StartReplica(w.ctx(), old)
	w.ok(err)
	t.Cleanup(func() { w.ok(successor.Stop()) })
	var master atomic.Pointer[string]
	before, after := old.Addr(), successor.Addr()
	master.Store(&before)
	follows := func(o *redis.Options) {
		listensBy(func(own net.Conn) (net.Conn, error) { return &detour{own}, nil })(o)
		dial := o.Dialer
		o.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dial(ctx, network, *master.Load())
		}
	}
	other := w.locksOn(w.client(follows)).Mutex(w.name)
	g := w.greedy(w.locksOn(w.client(follows)).Mutex(w.name), 0)
	w.takesTurns(other, g)
	rdb := w.client()
	w.ok(rdb.Do(w.ctx(), "FAILOVER").Err())
	master.Store(&after)
	w.soon("the master follows", func() bool { return w.follows(rdb) })
	w.ok(rdb.Do(w.ctx(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err())
	w.soon("locks work", func() bool {
		h, err := other.Lock(w.ctx())
		return err == nil && h.Unlock(w.ctx()) == nil
	})
	w.learns(other, g)
	if n := w.takesTurns(other, g); n > mostOvertaken {
		t.Errorf("the greedy one had the lock %d times while the other stood in the queue for 6 turns, want at most %d", n, mostOvertaken)
	}
	w.soon("it listens at the new master", func() bool {
		channels, err := other.locks.server.Client.PubSubChannels(w.ctx(), wakeChannel(other.locks.process)).Result()
		return err == nil && len(channels) == 1
	})
}

// follows reports whether a server is a replica that is up to date.
func (w *world) follows(rdb *redis.Client) bool {
	return strings.Contains(rdb.Info(w.ctx(), "replication").Val(), "master_link_status:up")
}

// silenced lets what a server sends through until the first message.
type silenced struct {
	net.Conn
	deaf bool
}

func (c *silenced) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		c.deaf = c.deaf || bytes.Contains(p[:n], []byte("\r\nmessage\r\n"))
		if !c.deaf || err != nil {
			return n, err
		}
	}
}

// The server counts a listener, and no message reaches it: not on this connection, nor on the next.
func TestWaiterGetsItsTurnWithADeafSubscription(t *testing.T) {
	besideGreedy(t, func(w *world, pause time.Duration) {
		seen := &diary{}
		deaf := listensBy(func(own net.Conn) (net.Conn, error) { return &silenced{Conn: own}, nil })
		g := w.greedy(w.locks().Mutex(w.name), pause)
		m := w.locksOn(w.client(deaf), Observe(seen)).Mutex(w.name)
		for start := time.Now(); len(seen.polling()) == 0 && time.Since(start) < patience; { // it may subscribe during the first turns
			w.takesTurns(m, g)
		}
		w.takesTurns(w.locksOn(w.client(deaf)).Mutex(w.name), g)
		if told := seen.polling(); len(told) != 1 {
			w.t.Errorf("the observer is told %q, want a reason once", told)
		}
	})
}

// BUSY, for as long as somebody's script runs. Nobody who waits gets an error.
func TestWaitersOutlastASlowScript(t *testing.T) {
	outlast(t, func(w *world) {
		rdb := w.client(func(o *redis.Options) { o.ReadTimeout = patience })
		w.ok(rdb.ConfigSet(w.ctx(), "busy-reply-threshold", "10").Err())
		w.ok(rdb.Eval(w.ctx(), `local t = redis.call('TIME')
			repeat local n = redis.call('TIME') until (n[1] - t[1]) * 1000 + (n[2] - t[2]) / 1000 > 1500
			return 1`, nil).Err())
	})
}

// READONLY, for as long as a master is the replica of another.
func TestWaitersOutlastARefusalToWrite(t *testing.T) {
	outlast(t, func(w *world) {
		rdb := w.client()
		w.ok(rdb.ConfigSet(w.ctx(), "replica-read-only", "yes").Err())
		w.ok(rdb.ReplicaOf(w.ctx(), "127.0.0.1", "1").Err())
		time.Sleep(4 * time.Second) // the test needs this time to pass
		w.ok(rdb.ReplicaOf(w.ctx(), "no", "one").Err())
	})
}

// outlast has callers of each kind wait in one process and in several while a server refuses for a moment.
func outlast(t *testing.T, refuse func(w *world)) {
	t.Helper()
	t.Parallel()
	for kind, lock := range exclusiveKinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w, _ := private(t)
			held := w.must(lock(w.locks(), w.name).Lock(w.ctx()))
			together := w.locks()
			const waiters = 20
			results := make(chan error, waiters)
			for i := range waiters {
				l := together
				if i%4 == 0 {
					l = w.locks()
				}
				go func() {
					h, err := lock(l, w.name).Lock(w.ctx())
					if err == nil {
						err = h.Unlock(w.ctx())
					}
					results <- err
				}()
			}
			inLine := waiters // an error at once is what a caller gets that comes later
			if kind == "mutex" {
				inLine = 6 // processes
			}
			w.soon("they wait", func() bool {
				s, err := lock(together, w.name).Inspect(w.ctx())
				return err == nil && s.Waiting == inLine
			})
			refuse(w)
			if err := held.Unlock(w.ctx()); err != nil {
				t.Errorf("unlock after the refusal: %v", err)
			}
			failed := 0
			for range waiters {
				if err := <-results; err != nil {
					failed++
					t.Log(err)
				}
			}
			if failed > 0 {
				t.Errorf("%d of %d waiters got an error", failed, waiters)
			}
		})
	}
}

// What cannot pass ends the wait: the right to run scripts is taken away.
func TestWaiterGetsARefusalThatCannotPass(t *testing.T) {
	t.Parallel()
	w, _ := private(t)
	set := w.user("loses")
	l := w.locksOn(w.client(set))
	w.must(w.locks().Mutex(w.name).Lock(w.ctx()))
	result := make(chan error, 1)
	go func() { result <- second(l.Mutex(w.name).Lock(w.ctx())) }()
	w.soon("it waits", func() bool { return w.waits(l.Mutex(w.name)) })
	w.user("loses", "-evalsha", "-eval")
	if err := <-result; err == nil || errors.Is(err, context.DeadlineExceeded) || !redis.HasErrorPrefix(err, "NOPERM") {
		t.Errorf("the waiter got %v, want NOPERM", err)
	}
}
