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
	"github.com/redis/go-redis/v9/maintnotifications"

	"inventory/internal/busytest"
	"inventory/internal/locking/locksim/wire"
	"inventory/internal/servertest"
)

// turnLimit is how long docs/LOCKS.md lets a process wait for its turn when wake-ups do not reach it.
const turnLimit = 2 * time.Second

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
	busytest.Receive(w.t, "the greedy one has its turn", g.has)
}

// takesTurns takes a lock a few times, each after somebody greedy has had it, and fails the test if a turn does not come, or comes
// late in virtual time. It returns how often the greedy one has had the lock while this one stood in the queue.
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
		if took := time.Since(start); w.virtual && took > turnLimit {
			w.t.Errorf("turn %d came after %s, want %s", turn, took, turnLimit)
		}
		overtaken += max(0, after-before.Load())
		w.ok(h.Unlock(w.ctx()))
	}
	w.again(g)
	return overtaken
}

// takesItsPlace takes turns, and fails the test in virtual time if the greedy one has the lock again and again while this one stands
// in the queue.
func (w *world) takesItsPlace(m *Mutex, g *greedy) {
	w.t.Helper()
	if n := w.takesTurns(m, g); w.virtual && n > mostOvertaken {
		w.t.Errorf("the greedy one had the lock %d times while the other stood in the queue for 6 turns, want at most %d", n, mostOvertaken)
	}
}

// learns takes turns until a process knows that PUBLISH does not count it. It learns that when it finds that it was taken out of
// the queue; not as long as the message comes, and finds the lock free.
func (w *world) learns(m *Mutex, g *greedy) {
	w.t.Helper()
	w.soon("it learns that nobody counts it", func() bool {
		w.takesTurns(m, g)
		return !m.locks.subscription.Counted()
	})
}

// besideGreedy runs a test for a process that locks again at once, and for one that pauses for a hop: on a real Redis, where the
// turns come, and in virtual time, where they come in time.
func besideGreedy(t *testing.T, test func(w *world, pause time.Duration)) {
	t.Helper()
	t.Parallel()
	for name, pause := range map[string]time.Duration{"at once": 0, "hops": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			each(t, func(w *world) { test(w, pause) })
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

// mayNotSubscribe returns the settings of a client that may not subscribe, and a function that lets it.
func (w *world) mayNotSubscribe() (set func(*redis.Options), let func()) {
	w.t.Helper()
	if !w.virtual {
		return w.user("maynot", "-subscribe"), func() { w.user("maynot", "+subscribe") }
	}
	var may atomic.Bool
	return through(func(conn net.Conn) net.Conn { return &barring{conn.(*wire.Wire), &may} }), func() { may.Store(true) }
}

// A barring is a connection to a server that refuses a subscription, in virtual time.
type barring struct {
	*wire.Wire
	may *atomic.Bool
}

func (c *barring) Write(p []byte) (int, error) {
	if subscribes(p) && !c.may.Load() {
		c.Deliver([]byte("-NOPERM nobody may listen\r\n"))
		return len(p), nil
	}
	return c.Wire.Write(p)
}

// subscribes reports whether a client subscribes by these bytes.
func subscribes(p []byte) bool { return bytes.Contains(p, []byte("\nsubscribe\r")) }

// through makes all connections of a client pass through something.
func through(wrap func(net.Conn) net.Conn) func(*redis.Options) {
	return func(o *redis.Options) {
		dial := o.Dialer
		if dial == nil {
			dial = (&net.Dialer{}).DialContext
		}
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return wrap(conn), nil
		}
	}
}

func TestWaiterGetsItsTurnWithoutTheRightToSubscribe(t *testing.T) {
	besideGreedy(t, func(w *world, pause time.Duration) {
		seen := &diary{}
		mayNot, let := w.mayNotSubscribe()
		g := w.greedy(w.locks().Mutex(w.name), pause)
		l := w.locksOn(w.client(mayNot), Observe(seen))
		w.takesTurns(l.Mutex(w.name), g)
		if told := seen.polling(); len(told) != 1 || told[0] == "" {
			w.t.Errorf("the observer is told %q of a refused subscription, want a reason once", told)
		}
		let()
		w.soon("it is told that wake-ups come again", func() bool { told := seen.polling(); return len(told) == 2 && told[1] == "" })
		w.takesTurns(l.Mutex(w.name), g)
	})
}

func TestTwoGetTheirTurnsWithoutTheRightToSubscribe(t *testing.T) {
	besideGreedy(t, func(w *world, pause time.Duration) {
		mayNot, _ := w.mayNotSubscribe()
		g := w.greedy(w.locksOn(w.client(mayNot)).Mutex(w.name), pause)
		w.takesTurns(w.locksOn(w.client(mayNot)).Mutex(w.name), g)
	})
}

func TestWaiterGetsItsTurnWithoutTheRightToPublish(t *testing.T) {
	besideGreedy(t, func(w *world, pause time.Duration) {
		mayNot := func(*redis.Options) {}
		if w.virtual {
			w.memory.rewrite = strings.NewReplacer("'PUBLISH'", "'PUBLISX'") // no such command: refused as well
		} else {
			mayNot = w.user("maynot", "-publish")
		}
		g := w.greedy(w.locksOn(w.client(mayNot)).Mutex(w.name), pause)
		w.takesTurns(w.locksOn(w.client(mayNot)).Mutex(w.name), g)
	})
}

func TestWaiterGetsItsTurnOnARing(t *testing.T) {
	besideGreedy(t, func(w *world, pause time.Duration) {
		g := w.greedy(w.locksOn(w.ring()).Mutex(w.name), pause)
		w.takesTurns(w.locksOn(w.ring()).Mutex(w.name), g)
	})
}

// ring returns a client of a Ring: of the servers that the tests share, or of the one in virtual time.
func (w *world) ring() *redis.Ring {
	w.t.Helper()
	o := &redis.RingOptions{DisableIdentity: true, HeartbeatFrequency: time.Hour} // none counts as down
	if w.virtual {
		o.Addrs = map[string]string{"a": "127.0.0.1:1"} // nobody looks up its name
		o.NewClient = func(o *redis.Options) *redis.Client {
			return w.client(func(own *redis.Options) { own.Addr = o.Addr })
		}
	} else {
		o.Addrs = map[string]string{"a": w.addr, "b": three[1].Addr(), "c": three[2].Addr()}
		o.NewClient = func(o *redis.Options) *redis.Client {
			o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
			return redis.NewClient(o)
		}
		o.DialTimeout, o.PoolTimeout = busytest.Patience, busytest.Patience
		o.ReadTimeout, o.WriteTimeout = busytest.Patience, busytest.Patience
	}
	rdb := redis.NewRing(o)
	w.t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// A listening is a connection that goes another way once it subscribes.
type listening struct {
	net.Conn
	elsewhere func(own net.Conn) (net.Conn, error)
}

func (c *listening) Write(p []byte) (int, error) {
	if subscribes(p) {
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
		through(func(conn net.Conn) net.Conn { return &listening{Conn: conn, elsewhere: elsewhere} })(o)
	}
}

// A detour brings what a server sends a little later than the answers of others.
type detour struct{ net.Conn }

func (c *detour) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	time.Sleep(5 * time.Millisecond)
	return n, err
}

// Messages arrive by way of a replica, so PUBLISH counts no listener at the master. The same is true of some proxies. In virtual
// time the scripts misread the count.
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
			if w.virtual {
				return &detour{own}, nil
			}
			_ = own.Close()
			conn, err := net.Dial("tcp", replica.Addr())
			return &detour{conn}, err
		})
		if w.virtual {
			w.memory.rewrite = strings.NewReplacer(", state) ~= 0 or", ", state) == 9 or")
		}
		g := w.greedy(w.locksOn(w.client(byReplica)).Mutex(w.name), pause)
		// Messages come, so luck would give it the lock in the end; with a place in the queue it needs none.
		other := w.locksOn(w.client(byReplica)).Mutex(w.name)
		w.learns(other, g)
		w.takesItsPlace(other, g)
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
	w.takesTurns(other, g)
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
		w.soon("the observer is told of it", func() bool { // it may subscribe during the first turns
			w.takesTurns(m, g)
			return len(seen.polling()) > 0
		})
		w.takesTurns(w.locksOn(w.client(deaf)).Mutex(w.name), g)
		if told := seen.polling(); len(told) != 1 {
			w.t.Errorf("the observer is told %q, want a reason once", told)
		}
	})
}

// BUSY, for as long as somebody's script runs. Nobody who waits gets an error.
func TestWaitersOutlastASlowScript(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	for kind, lock := range exclusiveKinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w, _ := private(t)
			w.outlast(kind, lock, func() {
				rdb := w.client()
				w.ok(rdb.ConfigSet(w.ctx(), "busy-reply-threshold", "10").Err())
				w.ok(rdb.Eval(w.ctx(), `local t = redis.call('TIME')
					repeat local n = redis.call('TIME') until (n[1] - t[1]) * 1000 + (n[2] - t[2]) / 1000 > 1500
					return 1`, nil).Err())
			})
		})
	}
}

// READONLY, for as long as a master is the replica of another.
func TestWaitersOutlastARefusalToWrite(t *testing.T) {
	t.Parallel()
	for kind, lock := range exclusiveKinds() {
		t.Run(kind, func(t *testing.T) {
			virtual(t, func(w *world) {
				w.outlast(kind, lock, func() {
					w.memory.SetError("READONLY You can't write against a read only replica.")
					time.Sleep(4 * time.Second)
					w.memory.SetError("")
				})
			})
		})
	}
}

// outlast has callers of a kind wait in one process and in several while the server refuses for a moment.
func (w *world) outlast(kind string, lock func(l *Locks, name string) offered, refuse func()) {
	w.t.Helper()
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
				w.ok(h.Unlock(w.ctx()))
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
	refuse()
	w.ok(held.Unlock(w.ctx()))
	failed := 0
	for range waiters {
		if err := <-results; err != nil {
			failed++
			w.t.Log(err)
		}
	}
	if failed > 0 {
		w.t.Errorf("%d of %d waiters got an error", failed, waiters)
	}
}

// A lasting refusal ends the wait: the right to run scripts is taken away.
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
