package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/app"
	"inventory/internal/faultproxy"
	"inventory/internal/servertest"
	"inventory/internal/stock"
	"inventory/internal/stock/stocktest"
)

// onRedis starts a service on a Redis, and returns what it logs at the start.
func onRedis(t *testing.T, redisURL string) (*app.App, string, error) {
	t.Helper()
	var log bytes.Buffer
	a, err := app.Start(t.Context(), app.Config{
		DatabaseURL: "sqlite:" + stocktest.SQLiteFile(t), RedisURL: redisURL, DrainTimeout: time.Second,
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		return nil, "", err
	}
	t.Cleanup(func() {
		if err := a.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return a, log.String(), nil
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
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
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
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.AdminURL()+"/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]string
		err = json.NewDecoder(response.Body).Decode(&got)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s %v: Redis costs speed alone", response.Status, err)
		}
		if got["locks"] == locks {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("got %v, want locks %s", got, locks)
		}
	}
}

// TestAReplicaGivesNoLocks: a service on a replica starts, logs that, and has locks once the replica is promoted.
func TestAReplicaGivesNoLocks(t *testing.T) {
	t.Parallel()
	master := startRedis(t, func(ctx context.Context) (*servertest.Redis, error) { return servertest.StartRedis(ctx) })
	replica := startRedis(t, func(ctx context.Context) (*servertest.Redis, error) { return servertest.StartReplica(ctx, master) })
	a, log, err := onRedis(t, replica.URL())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{T: t}
	if !strings.Contains(log, "locks fail") || s.metric(a, "inventory_locks_fail") != 1 {
		t.Errorf("inventory_locks_fail is %d, and the log says:\n%s", s.metric(a, "inventory_locks_fail"), log)
	}
	ready(t, a, "failing")
	do(t, replica, "REPLICAOF NO ONE")
	ready(t, a, "ok")
	if failing := s.metric(a, "inventory_locks_fail"); failing != 0 {
		t.Errorf("inventory_locks_fail is %d with locks that work", failing)
	}
}

// TestReadyzShowsWhetherLocksWork: a Redis that answers PING may give no locks.
func TestReadyzShowsWhetherLocksWork(t *testing.T) {
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
			a, _, err := onRedis(t, server.URL())
			if err != nil {
				t.Fatal(err)
			}
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
	for proxy.Connections() < 8 { // at rest
		time.Sleep(time.Millisecond)
	}
	t.Logf("%d connections go dark", proxy.Hold())
	start := time.Now()
	for service.CheckLocks() != nil && time.Since(start) < time.Minute {
		time.Sleep(10 * time.Millisecond)
	}
	if took := time.Since(start); took > 2500*time.Millisecond { // a second and a half, on a machine that is not busy
		t.Errorf("locks came back after %v", took)
	}
}
