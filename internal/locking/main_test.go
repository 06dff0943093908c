package locking

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"inventory/internal/busytest"
	"inventory/internal/keyexpiry"
	"inventory/internal/locking/internal/server"
	"inventory/internal/servertest"
)

// shared is the address of the Redis that harmless tests share. It is one of three, for tests that need a quorum.
var (
	shared string
	three  [3]*servertest.Redis
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv(holderVariable) != "" {
		return holdUntilLost()
	}
	logging.Disable() // the client logs every fault that we make
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil { // some wait for time to pass, others work
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var errs [len(three)]error
	var starts sync.WaitGroup
	for i := range three {
		starts.Go(func() { three[i], errs[i] = servertest.StartRedis(context.Background()) })
	}
	starts.Wait()
	code := 1
	if err := errors.Join(errs[:]...); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		shared = three[0].Addr()
		code = m.Run()
	}
	for _, server := range three {
		if server == nil {
			continue
		}
		if err := server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if err := busytest.Leaks(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// batch is how many locks share one round trip.
const batch = server.Batch

// A world is a server and a name that only this test uses.
type world struct {
	t      *testing.T
	addr   string
	memory *memory // the server, if it is in virtual time and has no address
	name   string

	virtual bool // time is

	mu  sync.Mutex
	all []*Locks
}

// A place is where a test runs.
type place func(t *testing.T, test func(w *world))

// each runs a test against a real Redis, and against miniredis in virtual time.
func each(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Parallel()
	t.Run("redis", func(t *testing.T) { onRedis(t, test) })
	t.Run("miniredis", func(t *testing.T) { virtual(t, test) })
}

// onRedis runs a test against the shared Redis.
func onRedis(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Parallel()
	test(&world{t: t, addr: shared, name: t.Name() + rand.Text()}) // not what an earlier run has left
}

// private starts a Redis for a test that damages it.
func private(t *testing.T) (*world, *servertest.Redis) {
	t.Helper()
	server, err := servertest.StartRedis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return &world{t: t, addr: server.Addr(), name: t.Name()}, server
}

// client returns a new client of the server. Settings change its options. It waits as long for a real server, which a busy
// machine holds up, as the test does.
func (w *world) client(settings ...func(*redis.Options)) *redis.Client {
	w.t.Helper()
	o := &redis.Options{
		Addr: w.addr, DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if w.memory == nil {
		o.DialTimeout, o.PoolTimeout = busytest.Patience, busytest.Patience
		o.ReadTimeout, o.WriteTimeout = busytest.Patience, busytest.Patience
	} else {
		o.Addr = fmt.Sprintf("%p", w.memory) // it distinguishes the server from others
		o.Dialer = func(context.Context, string, string) (net.Conn, error) { return w.memory.dial() }
		o.PoolSize = 100 // timers of the pool survive the bubble: no caller may wait for a connection
	}
	for _, set := range settings {
		set(o)
	}
	rdb := redis.NewClient(o)
	w.t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// locks returns new Locks, like those of another process.
func (w *world) locks(opts ...Option) *Locks {
	w.t.Helper()
	return w.locksOn(w.client(), opts...)
}

func (w *world) locksOn(rdb redis.UniversalClient, opts ...Option) *Locks {
	w.t.Helper()
	l, err := New(rdb, opts...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = l.Close() })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, l)
	return l
}

// ctx returns a context that ends before the test would hang.
func (w *world) ctx() context.Context { return busytest.Context(w.t) }

// steps is ctx for a test of many steps, each of which must come in time, however long all of them take on a busy
// machine.
func (w *world) steps() (ctx context.Context, step func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	stuck := time.AfterFunc(busytest.Patience, cancel)
	w.t.Cleanup(func() {
		stuck.Stop()
		cancel()
	})
	return ctx, func() { stuck.Reset(busytest.Patience) }
}

// must returns a hold that must be granted.
func (w *world) must(h *Hold, err error) *Hold {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

// ok fails the test on an error. It accepts that an answer to a release comes too late on a busy machine: then the release is
// repeated in the background, and ok waits for that.
func (w *world) ok(err error) {
	w.t.Helper()
	switch {
	case err == nil:
	case !w.virtual && errors.Is(err, ErrNoAnswer) && strings.HasPrefix(err.Error(), "locking: release "):
		w.soon("what was released without an answer is released", w.clean)
	default:
		w.t.Fatal(err)
	}
}

// clean reports whether nothing is repeated in the background.
func (w *world) clean() bool {
	w.mu.Lock()
	all := slices.Clone(w.all)
	w.mu.Unlock()
	for _, l := range all {
		if l.enter() != nil {
			continue // it is closed
		}
		mine := l.Mutex(w.name) // a call that changes nothing waits for those before it
		<-l.releaseLater(&releaseCall{rows: []releaseRow{{lock: &mine.lock}}})
		l.cleaning.Lock()
		left := len(l.cleanups)
		l.cleaning.Unlock()
		l.calls.Done()
		if left > 0 {
			return false
		}
	}
	return true
}

// lives fails the test unless a key lives for a lease from a moment on, or for less if part of the lease is over.
func (w *world) lives(rdb *redis.Client, key string, lease time.Duration, from time.Time) {
	w.t.Helper()
	left, err := rdb.PTTL(w.ctx(), key).Result()
	w.ok(err)
	w.leaves(left, lease, from)
}

// leaves fails the test unless what is left of a lease from a moment on is the rest of it.
func (w *world) leaves(left, lease time.Duration, from time.Time) {
	w.t.Helper()
	if end := time.Now().Add(left); left > lease || end.Before(from.Add(lease-keyexpiry.Early)) {
		w.t.Errorf("it lives for %s more, want %s from %s on, and it is %s", left, lease, from, time.Now())
	}
}

// soon waits for something that another goroutine or the server must do.
func (w *world) soon(what string, is func() bool) {
	w.t.Helper()
	busytest.Soon(w.t, what, is)
}

// refused returns the error of a Lock that must not be granted, and how long it took. On a busy machine the answer may
// take longer than a short wait: then it tries again.
func (w *world) refused(lock func() (*Hold, error)) (took time.Duration, err error) {
	w.t.Helper()
	w.soon("an answer comes in time", func() bool {
		start := time.Now()
		var h *Hold
		h, err = lock()
		if took = time.Since(start); h != nil {
			w.t.Fatal("granted")
		}
		return !errors.Is(err, ErrNoAnswer)
	})
	return took, err
}

// holder returns the server's id of the holder, or of the holder of its first part.
func (h *Hold) holder() string {
	if len(h.parts) > 0 {
		return h.parts[0].holder()
	}
	h.one().locks.mu.Lock()
	defer h.one().locks.mu.Unlock()
	return h.one().grant.id.(string)
}

// exists counts which of the keys exist.
func (w *world) exists(rdb *redis.Client, keys ...string) int64 {
	w.t.Helper()
	n, err := rdb.Exists(w.ctx(), keys...).Result()
	w.ok(err)
	return n
}

// queued returns how many processes wait at the server.
func (w *world) queued(rdb *redis.Client, m *Mutex) int64 {
	w.t.Helper()
	n, err := rdb.ZCard(w.ctx(), m.queueKey).Result()
	w.ok(err)
	return n
}

// one returns the hold of a single lock.
func (h *Hold) one() *singleHold { return h.held.(*singleHold) }
