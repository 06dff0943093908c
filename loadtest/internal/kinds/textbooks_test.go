package kinds

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"inventory/internal/servertest"
	"inventory/loadtest/internal/servers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	poll    = 5 * time.Millisecond
	callers = 8
)

// open opens a lock of a kind.
func open(t *testing.T, on servers.URLs, kind string, timing Timing) Lock {
	t.Helper()
	client, err := These(on, kind)[0].Open(t.Context(), Setting{URLs: on, Timing: timing, Session: 10 * time.Second, Connections: callers + 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustStop(t, client.Close) })
	return client.Lock("a/b")
}

// locks returns every lock of textbooks that servers can be had for, by its name.
func locks(t *testing.T) map[string]Lock {
	t.Helper()
	on := servers.URLs{RedisURL: startRedis(t), DatabaseURL: startPostgres(t)}
	startOthers(t, &on)
	all := map[string]Lock{}
	for _, k := range Textbooks() {
		if k.absent == nil || !k.absent(on) {
			all[k.Name] = open(t, on, k.Name, Timing{Lease: time.Minute, Poll: poll})
		}
	}
	return all
}

// startOthers leaves out servers that are not installed: the lab leaves them out as well, and says so.
func startOthers(t *testing.T, on *servers.URLs) {
	t.Helper()
	zooKeeper, err := servertest.StartZooKeeper(t.Context())
	switch {
	case errors.Is(err, servertest.ErrNoZooKeeper):
		t.Log(err)
	case err != nil:
		t.Fatal(err)
	default:
		t.Cleanup(func() { mustStop(t, zooKeeper.Stop) })
		on.ZooKeeper = zooKeeper.Addr()
	}
	mongoDB, err := servertest.StartMongoDB(t.Context())
	switch {
	case errors.Is(err, servertest.ErrNoMongoDB):
		t.Log(err)
	case err != nil:
		t.Fatal(err)
	default:
		t.Cleanup(func() { mustStop(t, mongoDB.Stop) })
		on.MongoDBURL = mongoDB.URL()
	}
}

func startRedis(t *testing.T) (redisURL string) {
	t.Helper()
	server, err := servertest.StartRedis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustStop(t, server.Stop) })
	return server.URL()
}

func startPostgres(t *testing.T) (databaseURL string) {
	t.Helper()
	server, err := servertest.StartPostgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustStop(t, server.Stop) })
	if err := Prepare(t.Context(), servers.URLs{DatabaseURL: server.URL()}); err != nil {
		t.Fatal(err)
	}
	return server.URL()
}

func mustStop(t *testing.T, stop func() error) {
	t.Helper()
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestLocksAreLocks holds every lock to what it does promise, when nothing fails.
func TestLocksAreLocks(t *testing.T) {
	t.Parallel()
	for name, lock := range locks(t) {
		t.Run(name, func(t *testing.T) {
			hold := must(t, lock.TryLock)
			if _, err := lock.TryLock(t.Context()); !errors.Is(err, ErrBusy) {
				t.Errorf("try a held lock: %v", err)
			}
			short, cancel := context.WithTimeout(t.Context(), 10*poll)
			defer cancel()
			if _, err := lock.Lock(short); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("wait for a held lock: %v", err)
			}
			if err := hold.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
			if err := must(t, lock.Lock).Unlock(t.Context()); err != nil { // a waiter that gave up is not in the way
				t.Error(err)
			}
			exclude(t, lock)
		})
	}
}

// must takes a lock.
func must(t *testing.T, take func(context.Context) (Hold, error)) Hold {
	t.Helper()
	hold, err := take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return hold
}

// exclude lets callers meet, and counts what they do under the lock with a plain integer.
func exclude(t *testing.T, lock Lock) {
	t.Helper()
	const times = 3
	var counter int
	var wait sync.WaitGroup
	for range callers {
		wait.Go(func() {
			for range times {
				hold, err := lock.Lock(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				counter++
				if err := hold.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if counter != callers*times {
		t.Errorf("counted %d, want %d", counter, callers*times)
	}
}

// TestAReleaseWakesAWaiter: no waiter idles until the next try, which is a second away.
func TestAReleaseWakesAWaiter(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	exclude(t, open(t, servers.URLs{RedisURL: startRedis(t)}, Signal, Timing{Lease: time.Minute, Poll: time.Hour}))
	if took := time.Since(begun); took > 5*time.Second { // each of 24 would wait for a second, on average half of one
		t.Errorf("%v", took)
	}
}

// TestWaitersOutliveAHolder that has died, so that no release wakes them.
func TestWaitersOutliveAHolder(t *testing.T) {
	t.Parallel()
	l := open(t, servers.URLs{RedisURL: startRedis(t)}, Signal, Timing{Lease: 50 * time.Millisecond, Poll: 10 * time.Millisecond})
	late := must(t, l.Lock)
	if err := must(t, l.Lock).Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	if err := late.Unlock(t.Context()); !errors.Is(err, ErrNotHeld) {
		t.Errorf("a late unlock: %v", err)
	}
}

func TestAllHaveFlaws(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, known := range append(Textbooks(), slices.DeleteFunc(Libraries(), func(k Kind) bool { return k.Name == BSMMulti })...) {
		if known.Name == "" || known.Flaw == "" || seen[known.Name] {
			t.Errorf("%s: %s", known.Name, known.Flaw)
		}
		seen[known.Name] = true
	}
}
