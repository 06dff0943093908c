package kinds

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/busytest"
	"inventory/loadtest/internal/servers"
)

func TestMain(m *testing.M) { busytest.Main(m) }

const (
	poll    = 5 * time.Millisecond
	callers = 8
)

// open opens a lock of a kind.
func open(t *testing.T, kind string, s Setting) Lock {
	t.Helper()
	s.Connections = callers + 1
	client, err := Open(t.Context(), kind, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client.Lock("a/b")
}

// startServers starts those of all kinds that are installed.
func startServers(t *testing.T) servers.URLs {
	t.Helper()
	on, err := servers.Prepare(t.Context(), servers.URLs{}, servers.Needs{Nodes: true, Others: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := on.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := Prepare(t.Context(), on.URLs); err != nil {
		t.Fatal(err)
	}
	t.Log(on.LeftOut)
	return on.URLs
}

// TestLocksExclude holds every kind for which there are servers to what it promises when nothing fails.
func TestLocksExclude(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	on := startServers(t)
	for _, k := range All(on) {
		if k.Shared {
			continue
		}
		lock := open(t, k.Name, Setting{URLs: on, Lease: busytest.Patience, Poll: poll})
		t.Run(k.Name, func(t *testing.T) {
			hold := must(t, lock)
			short, cancel := context.WithTimeout(t.Context(), 10*poll)
			defer cancel()
			// A client sets its connection's deadline to the context's, so it may end before the context's timer has fired.
			if _, err := lock(short); err == nil || left(short) > 0 {
				t.Errorf("wait for a held lock: %v, %v before its end", err, left(short))
			}
			if err := hold.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
			if err := must(t, lock).Unlock(t.Context()); err != nil { // a waiter that gave up is not in the way
				t.Error(err)
			}
			exclude(t, lock)
		})
	}
	t.Run("a release wakes a waiter", func(t *testing.T) { releaseWakesAWaiter(t, on) })
	t.Run("waiters outlive a holder", func(t *testing.T) { waitersOutliveAHolder(t, on) })
}

// left returns how long a context with a deadline still lasts.
func left(ctx context.Context) time.Duration {
	until, _ := ctx.Deadline()
	return time.Until(until)
}

// must takes a lock.
func must(t *testing.T, take Lock) Hold {
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
				hold, err := lock(t.Context())
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

// releaseWakesAWaiter: a waiter has the lock because it was woken, and not because its next try came, which is a second away. On
// a busy machine that may come first: then the lock is handed over again.
func releaseWakesAWaiter(t *testing.T, on servers.URLs) {
	rdb, err := OpenRedis(t.Context(), on.RedisURL, Setting{Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer rdb.Close()
	watched := &waits{begun: make(chan struct{}, 1)}
	rdb.AddHook(watched)
	lock := setNX(rdb, "woken", Setting{Lease: busytest.Patience, Poll: time.Hour})
	busytest.Soon(t, "a release wakes a waiter", func() bool {
		hold := must(t, lock)
		waited := make(chan error, 1)
		go func() {
			next, err := lock(t.Context())
			if err == nil {
				err = next.Unlock(t.Context())
			}
			waited <- err
		}()
		busytest.Receive(t, "the wait of a caller for a held lock", watched.begun)
		if err := errors.Join(hold.Unlock(t.Context()), busytest.Receive(t, "the lock after its release", waited)); err != nil {
			t.Fatal(err)
		}
		return watched.woken.Load()
	})
}

// waits watches the waits of a client of [setNX].
type waits struct {
	begun chan struct{} // gets a value when a wait begins, unless it has one
	woken atomic.Bool   // the last wait ended with a signal
}

// DialHook implements [redis.Hook].
func (*waits) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook implements [redis.Hook].
func (*waits) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook implements [redis.Hook].
func (w *waits) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		if command.Name() != "blpop" {
			return next(ctx, command)
		}
		select {
		case w.begun <- struct{}{}:
		default:
		}
		err := next(ctx, command)
		w.woken.Store(err == nil)
		return err
	}
}

// waitersOutliveAHolder that has died, so that no release wakes them.
func waitersOutliveAHolder(t *testing.T, on servers.URLs) {
	late := must(t, open(t, SetNX, Setting{URLs: on, Lease: 50 * time.Millisecond, Poll: poll}))
	if err := must(t, open(t, SetNX, Setting{URLs: on, Lease: busytest.Patience, Poll: poll})).Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	if err := late.Unlock(t.Context()); !errors.Is(err, ErrNotHeld) {
		t.Errorf("a late unlock: %v, want %v", err, ErrNotHeld)
	}
}

func TestLocksOfOthersHaveFlaws(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range All(servers.URLs{ZooKeeper: "there", MongoDBURL: "there", NodeURLs: []string{"there"}}) {
		if k.Name == "" || seen[k.Name] || k.Ours != (k.Flaw == "") {
			t.Errorf("%+v", k)
		}
		seen[k.Name] = true
	}
}
