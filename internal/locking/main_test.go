package locking

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
	"go.uber.org/goleak"

	"inventory/internal/locking/internal/server"
	"inventory/internal/locking/internal/wire"
	"inventory/internal/servertest"
)

// shared is the address of the Redis that the tests share which do it no harm. It is one of five, for those
// that need a quorum.
var (
	shared string
	five   [5]*servertest.Redis
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv(holderVariable) != "" {
		return holdUntilLost()
	}
	logging.Disable() // the client tells of every fault that we make
	flag.Parse()
	parallel := "8" // they wait for time to pass more than they work
	if testing.Short() {
		parallel = "16"
	}
	if err := flag.Set("test.parallel", parallel); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var errs [len(five)]error
	var starts sync.WaitGroup
	for i := range five {
		starts.Go(func() { five[i], errs[i] = servertest.StartRedis(context.Background()) })
	}
	starts.Wait()
	code := 1
	if err := errors.Join(errs[:]...); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		shared = five[0].Addr()
		code = m.Run()
	}
	for _, server := range five {
		if server == nil {
			continue
		}
		if err := server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// batch is how many locks go in one round trip.
const batch = server.Batch

// patience is how long a test waits for what must happen: a stuck protocol fails, and does not hang.
const patience = 20 * time.Second

// A world is a server and a name of a test's own.
type world struct {
	t      *testing.T
	addr   string
	memory *miniredis.Miniredis // that server in virtual time, which has no address; else nil
	name   string
}

// each runs a test against a real Redis and against miniredis.
func each(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(&world{t: t, addr: shared, name: t.Name() + rand.Text()}) // not what an earlier run has left
	})
	t.Run("miniredis", func(t *testing.T) { virtual(t, test) })
}

// virtual runs a test against a miniredis in virtual time, which passes only while everybody waits. So a test of leases,
// bounds and deadlines knows when each ends, however busy the machine is.
func virtual(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := miniredis.NewMiniRedis()
		m.ClockTTL(true)
		t.Cleanup(m.Close)
		test(&world{t: t, memory: m, name: t.Name()})
	})
}

// wired connects to a miniredis in virtual time. What is sent takes a moment.
func wired(m *miniredis.Miniredis) (net.Conn, error) {
	far, err := m.Dial()
	if err != nil {
		return nil, err
	}
	near := wire.New(func(p []byte) {
		time.Sleep(100 * time.Microsecond)
		_, _ = far.Write(p) // a closed connection takes nothing, as it should be
	}, func() { _ = far.Close() })
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := far.Read(buffer)
			near.Deliver(buffer[:n])
			if err != nil {
				near.HangUp()
				return
			}
		}
	}()
	return near, nil
}

// private starts a Redis for a test that maltreats it.
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

// client returns a new client of the server. Settings change its options.
func (w *world) client(settings ...func(*redis.Options)) *redis.Client {
	w.t.Helper()
	o := &redis.Options{Addr: w.addr, DisableIdentity: true}
	if w.memory != nil {
		o.Dialer = func(context.Context, string, string) (net.Conn, error) { return wired(w.memory) }
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		o.PoolSize = 1000 // timers of the pool live on outside of the bubble: nobody may wait for a connection
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
	return l
}

// ctx returns a context that ends before the test would hang.
func (w *world) ctx() context.Context {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	w.t.Cleanup(cancel)
	return ctx
}

// must returns a hold that has to be granted.
func (w *world) must(h *Hold, err error) *Hold {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

// ok fails the test on an error.
func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// soon waits for something that another goroutine or the server must bring about.
func (w *world) soon(what string, is func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	for !is() {
		if time.Now().After(deadline) {
			w.t.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// refused returns the error of a Lock that must not be granted, and how long it took. On a busy machine the answer may
// take longer than a short wait: then it asks again.
func (w *world) refused(lock func() (*Hold, error)) (took time.Duration, err error) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		start := time.Now()
		h, err := lock()
		if h != nil {
			w.t.Fatal("granted")
		}
		if !errors.Is(err, ErrNoAnswer) || time.Now().After(deadline) {
			return time.Since(start), err
		}
	}
}

// holder returns the id by which the server knows the holder, or that of its first part.
func (h *Hold) holder() string {
	if len(h.parts) > 0 {
		return h.parts[0].holder()
	}
	h.locks.mu.Lock()
	defer h.locks.mu.Unlock()
	return h.grant.lease.id.(string)
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
