package app_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"inventory/internal/app"
	"inventory/internal/busytest"
	"inventory/internal/faultproxy"
	"inventory/internal/servertest"
	"inventory/internal/stock"
)

// onRedis starts a service on a Redis, and returns its log.
func onRedis(t *testing.T, redisURL string) (a *app.App, log *busytest.Log) {
	t.Helper()
	log = &busytest.Log{}
	return start(t, app.Config{RedisURL: redisURL, Logger: log.Logger()}), log
}

func startRedis(t *testing.T, start func(ctx context.Context) (*servertest.Redis, error)) *servertest.Redis {
	t.Helper()
	server, err := start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stopLater(t, server.Stop)
	return server
}

// do sends a Redis one command.
func do(t *testing.T, server *servertest.Redis, command string) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), ReadTimeout: busytest.Patience})
	defer client.Close()
	words := make([]any, 0)
	for _, word := range strings.Fields(command) {
		words = append(words, word)
	}
	if err := client.Do(t.Context(), words...).Err(); err != nil {
		t.Fatal(err)
	}
}

// ready waits until /readyz says that locks are as wanted.
func ready(t *testing.T, a *app.App, locks string) {
	t.Helper()
	busytest.Soon(t, "locks are "+locks, func() bool {
		status, body := ask(t, a.AdminURL()+"/readyz")
		var got struct{ Database, Locks string }
		err := json.Unmarshal([]byte(body), &got)
		if err != nil || got.Database == "ok" && status != http.StatusOK {
			t.Fatalf("%d %s %v: Redis costs speed alone", status, body, err)
		}
		return got.Locks == locks
	})
}

// TestAReplicaGivesNoLocks: a service on a replica starts, logs that, and has locks once the replica is promoted.
func TestAReplicaGivesNoLocks(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	master := startRedis(t, func(ctx context.Context) (*servertest.Redis, error) { return servertest.StartRedis(ctx) })
	replica := startRedis(t, func(ctx context.Context) (*servertest.Redis, error) { return servertest.StartReplica(ctx, master) })
	a, log := onRedis(t, replica.URL())
	s := &site{t: t}
	if !strings.Contains(log.String(), "locks fail") || s.metric(a, "inventory_locks_failing") != 1 {
		t.Errorf("inventory_locks_failing is %d, and the log says:\n%s", s.metric(a, "inventory_locks_failing"), log.String())
	}
	ready(t, a, "failing")
	do(t, replica, "REPLICAOF NO ONE")
	ready(t, a, "ok")
	busytest.Soon(t, "inventory_locks_failing is 0", func() bool { return s.metric(a, "inventory_locks_failing") == 0 })
}

// TestReadyzShowsWhetherLocksWork: a Redis that answers PING may give no locks.
func TestReadyzShowsWhetherLocksWork(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	for name, c := range map[string]struct{ spoil, mend string }{
		"full":        {"CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"},
		"may not run": {"ACL SETUSER default -eval -evalsha", "ACL SETUSER default +@all"},
		"may not see": {"ACL SETUSER default resetkeys", "ACL SETUSER default allkeys"},
		"too few":     {"CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startRedis(t, func(ctx context.Context) (*servertest.Redis, error) { return servertest.StartRedis(ctx) })
			a, _ := onRedis(t, server.URL())
			ready(t, a, "ok")
			do(t, server, c.spoil)
			ready(t, a, "failing")
			do(t, server, c.mend)
			ready(t, a, "ok")
		})
	}
}

// TestLocksComeBackFromTheDark: existing connections to Redis deliver nothing any more, and new ones work.
func TestLocksComeBackFromTheDark(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	server := startRedis(t, func(ctx context.Context) (*servertest.Redis, error) { return servertest.StartRedis(ctx) })
	proxy, err := faultproxy.Start(t.Context(), server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	s := open(t, app.LockReentrant, "redis://"+proxy.Addr()+"?min_idle_conns=8")
	service := s.apps[0].Service()
	if _, _, err := service.CreateSKU(t.Context(), stock.NewSKU{SKU: "hot", Stock: 10, Segments: 4}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := service.Deduct(t.Context(), "hot", stock.Order{OrderID: "o", Quantity: 1}); err != nil {
		t.Fatal(err)
	}
	busytest.Soon(t, "the clients have their connections", func() bool { return proxy.Connections() >= 8 })
	t.Logf("%d connections go dark", proxy.Hold())
	s.locksAreBack(func(ctx context.Context) error { return writable(ctx, proxy.Addr()) })
}
