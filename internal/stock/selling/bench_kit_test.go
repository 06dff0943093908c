package selling_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"inventory/internal/keyexpiry"
	"inventory/internal/locking"
	"inventory/internal/servertest"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/selling"
	"inventory/internal/stock/sqlite"
	"inventory/internal/stock/stocktest"
	"inventory/migrations"
)

const sku = "hot"

// world is a database and a Redis that several services share, as several processes would.
type world struct {
	*testing.T
	store      stock.Store
	url        string // of the PostgreSQL database
	redisURL   string // "" runs without locks
	always     bool   // a lock for every batch
	clock      *clock // of its services; nil is the system's
	batchLimit int    // orders of one write, by the only worker of a SKU; 0: the usual number
}

// clock is a clock that stands still until it is moved.
type clock struct{ micros atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.micros.Store(time.Now().UnixMicro())
	return c
}

func (c *clock) now() time.Time { return time.UnixMicro(c.micros.Load()).UTC() }

func (c *clock) advance(d time.Duration) { c.micros.Add(d.Microseconds()) }

// embedded is the world of one process: SQLite and miniredis.
func embedded(t *testing.T) *world {
	t.Helper()
	store, err := sqlite.Open(t.Context(), stocktest.SQLiteFile(t))
	server := miniredis.NewMiniRedis()
	if err != nil || server.Start() != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(server.Close)
	t.Cleanup(keyexpiry.Start(server))
	closeStore(t, store)
	return &world{T: t, store: store, redisURL: "redis://" + server.Addr()}
}

// real is a world of PostgreSQL and Redis.
func real(t *testing.T) *world {
	t.Helper()
	return realOn(t, postgresServer, postgresTemplate)
}

// realOn is a real world on a copy of a template with the schema.
func realOn(t *testing.T, server *servertest.Postgres, template string) *world {
	t.Helper()
	url, drop, err := server.CreateDatabase(t.Context(), template)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := drop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	store, err := postgres.Open(t.Context(), url, 8)
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, store)
	return &world{T: t, store: store, url: url, redisURL: redisServer.URL()}
}

// reopen gives the world itself new connections; its services keep theirs.
func (w *world) reopen() {
	w.Helper()
	store, err := postgres.Open(w.Context(), w.url, 8)
	if err != nil {
		w.Fatal(err)
	}
	closeStore(w.T, store)
	w.store = store
}

// migrated returns a new database of the server, with the schema.
func migrated(ctx context.Context, server *servertest.Postgres) (url string, err error) {
	url, _, err = server.CreateDatabase(ctx, "")
	if err != nil {
		return "", err
	}
	m, err := migrations.OpenPostgres(url)
	if err != nil {
		return "", err
	}
	return url, errors.Join(m.Up(ctx), m.Close())
}

func closeStore(t *testing.T, store stock.Store) {
	t.Helper()
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

// eachWorld runs a test in the real world with a lock for every batch, with locks where they save waiting, and without
// locks, and in the embedded one, which differs in its store, with a lock for every batch. The quick tests have the real world,
// which costs several times as much, only with the default.
func eachWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	const byDefault = "where they save waiting"
	for _, c := range []struct {
		name, locks string
		open        func(*testing.T) *world
	}{{"embedded", "always", embedded}, {"real", byDefault, real}, {"real", "always", real}, {"real", "never", real}} {
		if testing.Short() && c.name == "real" && c.locks != byDefault {
			continue
		}
		t.Run(fmt.Sprintf("%s, locks %s", c.name, c.locks), func(t *testing.T) {
			t.Parallel()
			w := c.open(t)
			w.always = c.locks == "always"
			if c.locks == "never" {
				w.redisURL = ""
			}
			test(t, w)
			w.audit()
		})
	}
}

// start returns one process of the world: a service with a Redis client and locks of its own.
func (w *world) start(observer selling.Observer) *selling.Service {
	w.Helper()
	return w.startOn(w.store, observer)
}

func (w *world) startOn(store stock.Store, observer selling.Observer) *selling.Service {
	w.Helper()
	// A busy machine is no reason to refuse.
	config := selling.Config{Store: store, Observer: observer, AnswerWithin: time.Minute, LockAlways: w.always}
	if w.clock != nil {
		config.Clock = w.clock.now
	}
	if w.batchLimit > 0 {
		config.BatchLimit = w.batchLimit
	}
	if w.redisURL != "" {
		options, err := redis.ParseURL(w.redisURL)
		if err != nil {
			w.Fatal(err)
		}
		options.MaxRetries, options.DialerRetries = -1, 1
		options.ReadTimeout = 250 * time.Millisecond
		options.ContextTimeoutEnabled = true
		client := redis.NewClient(options)
		locks, err := locking.New(client, locking.WatchdogLease(5*time.Second))
		if err != nil {
			w.Fatal(err)
		}
		w.Cleanup(func() {
			if err := locks.Close(); err != nil {
				w.Error(err)
			}
			if err := client.Close(); err != nil {
				w.Error(err)
			}
		})
		config.Lock = func(sku string, segment int) locking.Locker { return w.lock(locks, sku, segment) }
	}
	service := selling.NewService(config)
	w.Cleanup(func() {
		if err := service.Close(context.WithoutCancel(w.Context())); err != nil {
			w.Error(err)
		}
	})
	return service
}

// lock is the lock of a segment. The test's name keeps tests on one Redis apart.
func (w *world) lock(locks *locking.Locks, sku string, segment int) locking.Locker {
	return locks.Mutex(w.Name()+sku+"/"+strconv.Itoa(segment), locking.Group(w.Name()+sku))
}

func (w *world) create(s *selling.Service, units int64, segments int) {
	w.Helper()
	w.createOn(s, units, segments, stock.Terms{})
}

// createOn creates the SKU with terms.
func (w *world) createOn(s *selling.Service, units int64, segments int, terms stock.Terms) {
	w.Helper()
	if _, _, err := s.CreateSKU(w.Context(), stock.NewSKU{SKU: sku, Stock: units, Segments: segments, Terms: terms}); err != nil {
		w.Fatal(err)
	}
}

// audit checks I1 and I3 on the rows.
func (w *world) audit() stock.Balance {
	w.Helper()
	audit, err := w.store.Audit(context.WithoutCancel(w.Context()), "")
	if err != nil || !audit.OK() || len(audit.SKUs) != 1 {
		w.Fatalf("audit: got %+v, %v, want no difference and no violation", audit, err)
	}
	return audit.SKUs[0]
}

// counts is an observer that counts orders.
type counts struct {
	batches, lockless, merged, mergesLocked, fencedOut, fromMemory, guard, opened, closed, orders atomic.Int64
}

// note is the observer.
func (c *counts) note(a selling.Activity) {
	if a.Locked && a.Kind == selling.MergeWritten {
		c.mergesLocked.Add(1)
	}
	switch a.Kind {
	case selling.OrderWritten:
		c.orders.Add(1)
	case selling.BatchWritten:
		c.batches.Add(1)
		if !a.Locked {
			c.lockless.Add(1)
		}
	case selling.MergeWritten:
		c.merged.Add(int64(a.Merged))
	case selling.LocksFailed:
		if a.Err != nil {
			c.opened.Add(1)
		} else {
			c.closed.Add(1)
		}
	case selling.FencedOut:
		c.fencedOut.Add(1)
	case selling.GuardFired:
		c.guard.Add(1)
	case selling.SoldOutFromCache:
		c.fromMemory.Add(int64(a.Count))
	}
}

// tally counts the answers that buyers got.
type tally struct {
	sync.Mutex
	accepted, units, soldOut, insufficient int64
	smallestRefused                        int64
	errors                                 []error
}

func (b *tally) add(o stock.Order, created bool, err error) {
	b.Lock()
	defer b.Unlock()
	switch code := stock.CodeOf(err); code {
	case "":
		if created {
			b.accepted++
			b.units += o.Quantity
		}
		return
	case stock.CodeSoldOut:
		b.soldOut++
	case stock.CodeInsufficientStock:
		b.insufficient++
	default:
		b.errors = append(b.errors, err)
		return
	}
	if b.smallestRefused == 0 || o.Quantity < b.smallestRefused {
		b.smallestRefused = o.Quantity
	}
}
