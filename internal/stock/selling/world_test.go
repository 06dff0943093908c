package selling_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"inventory/internal/busytest"
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
	groups     bool // SKUs may be in limit groups
	t          *testing.T
	store      stock.Store
	url        string         // of the PostgreSQL database
	redis      *redis.Options // nil runs without locks
	always     bool           // a lock for every batch
	clock      *clock         // of its services; nil is the system's
	batchLimit int            // orders of one write, by the only worker of a SKU; 0: the usual number
	asked      askedLocks
}

// askedLocks counts the locks that were asked for: of segments, by workers, and of none, by probes.
type askedLocks struct{ segments, probes atomic.Int64 }

// clock is a clock that stands still until it is moved.
type clock struct{ micros atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.micros.Store(time.Now().UnixMicro())
	return c
}

func (c *clock) now() time.Time { return time.UnixMicro(c.micros.Load()).UTC() }

func (c *clock) advance(d time.Duration) { c.micros.Add(d.Microseconds()) }

// virtually runs a test in a world in virtual time, which passes only while all goroutines wait for each other or for time. While a
// statement is under way it stands still. So nothing takes too long, however busy the machine is. A buyer who orders again and again
// has to sleep in between, or no time passes.
func virtually(t *testing.T, open func(*testing.T) *world, test func(t *testing.T, w *world)) {
	t.Helper()
	busytest.Virtual(t, func(t *testing.T) {
		w := open(t)
		test(t, w)
		w.auditAll()
	})
}

// embedded is the world of one process: SQLite and miniredis.
func embedded(t *testing.T) *world {
	t.Helper()
	store, err := sqlite.Open(t.Context(), stocktest.SQLiteFile(t))
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, store)
	return &world{t: t, store: store, redis: memory(t)}
}

// memory is a miniredis without an address.
func memory(t *testing.T) *redis.Options {
	t.Helper()
	server := miniredis.NewMiniRedis()
	server.ClockTTL(true)
	t.Cleanup(server.Close)
	return &redis.Options{
		Addr:   "127.0.0.1:6379", // go-redis looks up the name of a host, and there is no name to be looked up in virtual time
		Dialer: func(context.Context, string, string) (net.Conn, error) { return server.Dial() },
	}
}

// deaf is a PostgreSQL store that receives no notifications.
type deaf struct{ *postgres.Store }

// Watch listens to nothing.
func (deaf) Watch(ctx context.Context, listening func(), _ func(sku string)) error {
	listening()
	<-ctx.Done()
	return nil
}

// silent is a world of PostgreSQL for virtual time, which no connection that listens would let pass. A process learns from the rows
// what others have changed.
func silent(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, url: newDatabase(t, postgresServer, postgresTemplate), redis: memory(t)}
	w.store = deaf{openPostgres(t, w.url)}
	return w
}

// real is a world of PostgreSQL and Redis.
func real(t *testing.T) *world {
	t.Helper()
	return realOn(t, postgresServer, postgresTemplate, redisServer)
}

// realOn is a real world on a copy of a template with the schema.
func realOn(t *testing.T, server *servertest.Postgres, template string, locks *servertest.Redis) *world {
	t.Helper()
	w := &world{t: t, url: newDatabase(t, server, template), redis: optionsOf(t, locks)}
	w.store = openPostgres(t, w.url)
	return w
}

// optionsOf are those of a client of a server.
func optionsOf(t *testing.T, server *servertest.Redis) *redis.Options {
	t.Helper()
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	return options
}

func newDatabase(t *testing.T, server *servertest.Postgres, template string) (url string) {
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
	return url
}

func openPostgres(t *testing.T, url string) *postgres.Store {
	t.Helper()
	store, err := postgres.Open(t.Context(), url, 8)
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, store)
	return store
}

// another returns the store of another process of the world. A SQLite file belongs to one process, which has one store.
func (w *world) another() stock.Store {
	w.t.Helper()
	if w.url == "" {
		return w.store
	}
	store := openPostgres(w.t, w.url)
	if _, is := w.store.(deaf); is {
		return deaf{store}
	}
	return store
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

// eachWorld runs a test in virtual time: on PostgreSQL with a lock for every batch, with locks where they save waiting, and without
// locks, and on SQLite, which differs in its store, with a lock for every batch. The quick tests have PostgreSQL, which costs several
// times as much, only with the default.
func eachWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	const byDefault = "where they save waiting"
	for _, c := range []struct {
		name, locks string
		open        func(*testing.T) *world
	}{{"embedded", "always", embedded}, {"real", byDefault, silent}, {"real", "always", silent}, {"real", "never", silent}} {
		if testing.Short() && c.name == "real" && c.locks != byDefault {
			continue
		}
		t.Run(fmt.Sprintf("%s, locks %s", c.name, c.locks), func(t *testing.T) {
			t.Parallel()
			virtually(t, c.open, func(t *testing.T, w *world) {
				w.always = c.locks == "always"
				if c.locks == "never" {
					w.redis = nil
				}
				test(t, w)
			})
		})
	}
}

// eachStore runs a test in virtual time on each store, with locks where they save waiting.
func eachStore(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	for name, open := range map[string]func(*testing.T) *world{"embedded": embedded, "real": silent} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			virtually(t, open, test)
		})
	}
}

// start returns one process of the world: a service with a Redis client and locks of its own.
func (w *world) start(observer selling.Observer) *selling.Service {
	w.t.Helper()
	return w.startOn(w.store, observer)
}

func (w *world) startOn(store stock.Store, observer selling.Observer) *selling.Service {
	w.t.Helper()
	return w.serve(selling.Config{Store: store, Observer: observer})
}

// serve returns a process with a configuration of its own.
func (w *world) serve(config selling.Config) *selling.Service {
	w.t.Helper()
	config.LockAlways, config.BatchLimit = w.always, w.batchLimit
	if w.clock != nil {
		config.Clock = w.clock.now
	}
	if w.redis != nil {
		locks := w.locks()
		config.Lock = func(sku string, segment int) locking.Locker {
			if segment < 0 {
				w.asked.probes.Add(1)
			} else {
				w.asked.segments.Add(1)
			}
			return w.lock(locks, sku, segment)
		}
	}
	return serve(w.t, config)
}

// serve returns a service until the end of a test. A busy machine is no reason to refuse, unless the configuration says so.
func serve(t testing.TB, config selling.Config) *selling.Service {
	t.Helper()
	if config.AnswerWithin == 0 {
		config.AnswerWithin = busytest.Patience
	}
	s := selling.NewService(config)
	t.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return s
}

// client returns a client of the world's Redis until the end of the test.
func (w *world) client() *redis.Client {
	w.t.Helper()
	options := *w.redis
	options.MaxRetries, options.DialerRetries = -1, 1
	options.ReadTimeout = 250 * time.Millisecond
	options.ContextTimeoutEnabled = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	client := redis.NewClient(&options)
	w.t.Cleanup(func() {
		if err := client.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return client
}

// locks returns the locks of one process until the end of the test.
func (w *world) locks() *locking.Locks {
	w.t.Helper()
	locks, err := locking.New(w.client(), locking.WatchdogLease(busytest.Patience))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := locks.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return locks
}

// lock is the lock of a segment. The test's name keeps tests on one Redis apart.
func (w *world) lock(locks *locking.Locks, sku string, segment int) locking.Locker {
	return locks.Mutex(w.t.Name()+sku+"/"+strconv.Itoa(segment), locking.Group(w.t.Name()+sku))
}

// busy reports whether a call may have failed because the machine is busy: a statement has two seconds, and a queue has a bound.
func busy(err error) bool {
	late, is := errors.AsType[net.Error](err)
	return is && late.Timeout() || stock.CodeOf(err) == stock.CodeOverloaded
}

// patiently repeats a call while the machine is too busy for it.
func patiently(t testing.TB, call func() error) (err error) {
	t.Helper()
	busytest.Soon(t, "an answer from the database", func() bool {
		err = call()
		return !busy(err)
	})
	return err
}

func (w *world) create(s *selling.Service, units int64, segments int) {
	w.t.Helper()
	w.createOn(s, units, segments, stock.Terms{})
}

// createOn creates the SKU with terms.
func (w *world) createOn(s *selling.Service, units int64, segments int, terms stock.Terms) {
	w.t.Helper()
	err := patiently(w.t, func() error {
		_, _, err := s.CreateSKU(w.t.Context(), stock.NewSKU{SKU: sku, Stock: units, Segments: segments, Terms: terms})
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// audit checks I1 and I3 on the rows of the only SKU.
func (w *world) audit() stock.Balance {
	w.t.Helper()
	audit := w.auditAll()
	if len(audit.SKUs) != 1 {
		w.t.Fatalf("audit: got %d SKUs, want 1", len(audit.SKUs))
	}
	return audit.SKUs[0]
}

// auditAll checks them on the rows of all SKUs.
func (w *world) auditAll() (audit stock.Audit) {
	w.t.Helper()
	err := patiently(w.t, func() (err error) {
		audit, err = w.store.Audit(context.WithoutCancel(w.t.Context()), "", nil)
		return err
	})
	if err != nil || !audit.OK() {
		w.t.Fatalf("audit: got %+v, %v, want no difference and no violation", audit, err)
	}
	return audit
}

// counts is an observer that counts orders.
type counts struct {
	batches, lockless, merged, mergesLocked, fencedOut, fromMemory, guard, opened, closed, orders, expired atomic.Int64
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
	case selling.ReservationsExpired:
		c.expired.Add(int64(a.Count))
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
