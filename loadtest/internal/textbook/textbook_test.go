package textbook

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"inventory/internal/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	poll    = 5 * time.Millisecond
	callers = 8
)

var timing = Timing{Lease: time.Minute, Poll: poll}

// locks returns every lock of this package that servers can be had for, by its name.
func locks(t *testing.T) map[string]Lock {
	t.Helper()
	rdb, db := openRedis(t), openRows(t)
	all := map[string]Lock{
		SetNXExpireName: SetNXExpire(rdb, "setnx", timing),
		SetPXName:       SetPX(rdb, "setpx", timing),
		SignalName:      Signal(rdb, "signal", timing),
		RowName:         Row(db, "row", timing),
		RowExpiryName:   RowExpiry(db, "expiring row", timing),
		AdvisoryName:    Advisory{db, "advisory"},
	}
	if lock := openSequential(t); lock != nil {
		all[SequentialName] = lock
	}
	if lock := openDocument(t); lock != nil {
		all[DocumentName] = lock
	}
	return all
}

// openSequential returns nil where ZooKeeper is not installed: the lab leaves it out as well, and says so.
func openSequential(t *testing.T) Lock {
	t.Helper()
	server, err := servertest.StartZooKeeper(t.Context())
	if errors.Is(err, servertest.ErrNoZooKeeper) {
		t.Log(err)
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustStop(t, server.Stop) })
	connection, err := ConnectZooKeeper(t.Context(), server.Addr(), 10*time.Second, net.DialTimeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connection.Close)
	return Sequential{connection, "a/b"}
}

// openDocument returns nil where no server of MongoDB's protocol is installed: the lab leaves it out as well, and says so.
func openDocument(t *testing.T) Lock {
	t.Helper()
	server, err := servertest.StartMongoDB(t.Context())
	if errors.Is(err, servertest.ErrNoMongoDB) {
		t.Log(err)
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustStop(t, server.Stop) })
	documents, disconnect, err := ConnectMongoDB(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustStop(t, disconnect) })
	return Document(documents, "document", timing)
}

func openRedis(t *testing.T) *redis.Client {
	t.Helper()
	server, err := servertest.StartRedis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustStop(t, server.Stop) })
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func openRows(t *testing.T) *pgxpool.Pool {
	t.Helper()
	server, err := servertest.StartPostgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustStop(t, server.Stop) })
	config, err := pgxpool.ParseConfig(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = callers + 1
	db, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	if err := CreateRows(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return db
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
			if err := must(t, lock.Lock).Unlock(t.Context()); err != nil { // who gave up is not in the way
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

// TestAReleaseWakesAWaiter: nobody idles until the next try, which is a second away.
func TestAReleaseWakesAWaiter(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	exclude(t, Signal(openRedis(t), "woken", Timing{Lease: time.Minute, Poll: time.Hour}))
	if took := time.Since(begun); took > 5*time.Second { // each of 24 would wait for a second, on average half of one
		t.Errorf("%v", took)
	}
}

// TestWaitersOutliveAHolder that has died, so that nobody wakes them.
func TestWaitersOutliveAHolder(t *testing.T) {
	t.Parallel()
	l := Signal(openRedis(t), "dead", Timing{Lease: 50 * time.Millisecond, Poll: 10 * time.Millisecond})
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
	for _, known := range All() {
		if known.Name == "" || known.Flaw == "" || seen[known.Name] {
			t.Errorf("%+v", known)
		}
		seen[known.Name] = true
	}
}
