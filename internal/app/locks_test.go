package app_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/api/client"
	"inventory/internal/app"
	"inventory/internal/busytest"
	"inventory/internal/servertest"
	"inventory/internal/stock"
)

// TestEveryKindOfLockSells sells a SKU out, through two services at once, with each kind of lock.
func TestEveryKindOfLockSells(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	one, all := redisServers[0].URL(), make([]string, 0, len(redisServers))
	for _, server := range redisServers {
		all = append(all, server.URL())
	}
	nobody := "redis://127.0.0.1:1"
	for _, c := range []struct{ name, lock, redisURL string }{
		{"none", app.LockNone, one},
		{"reentrant", app.LockReentrant, one},
		{"fair", app.LockFair, one},
		{"redlock", app.LockRed, strings.Join(all, ",")},
		{"redlock, one server down", app.LockRed, strings.Join([]string{nobody, all[0], all[1]}, ",")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			// One order in each batch: so they always queue, and take locks, also on a machine that waits between larger batches. A
			// fair lock is always taken.
			limit := 1
			if c.lock == app.LockFair {
				limit = 0
			}
			s := openLimited(t, c.lock, c.redisURL, limit)
			locked := func(a *app.App) bool { return s.metric(a, `inventory_batch_seconds_count{locked="true"}`) > 0 }
			s.sell(600, 6)
			if c.lock == app.LockNone {
				if slices.ContainsFunc(s.apps, locked) {
					t.Error("batches were written under locks")
				}
				return
			}
			// Without a queue a process takes no locks, and one of a busy machine may have none.
			busytest.Soon(t, "each process has written under a lock", func() bool {
				if slices.ContainsFunc(s.apps, func(a *app.App) bool { return !locked(a) }) {
					s.sell(200, 6)
					return false
				}
				return true
			})
		})
	}
}

// site is two services on one database whose tokens may only grow.
type site struct {
	t    *testing.T
	url  string // of the database
	apps []*app.App
}

// tokensOnlyGrow makes the database refuse a write that would break I4.
const tokensOnlyGrow = `
CREATE FUNCTION only_grow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.fence < OLD.fence OR (NEW.fence = OLD.fence AND NEW.fence_owner <> OLD.fence_owner) THEN
        RAISE EXCEPTION 'segment %: from token % of % to % of %', OLD.segment, OLD.fence, OLD.fence_owner, NEW.fence, NEW.fence_owner;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER only_grow BEFORE UPDATE ON stock_segments FOR EACH ROW EXECUTE FUNCTION only_grow()`

func open(t *testing.T, lock, redisURL string) *site {
	t.Helper()
	return openLimited(t, lock, redisURL, 0)
}

// openLimited is open for services that write so many orders at once at most; 0: the usual number.
func openLimited(t *testing.T, lock, redisURL string, limit int) *site {
	t.Helper()
	s := &site{t: t, url: emptyDatabase(t)}
	for range 2 {
		s.apps = append(s.apps, startOn(t, app.Config{DatabaseURL: s.url, Lock: lock, RedisURL: redisURL, BatchLimit: limit}))
	}
	conn, err := pgx.Connect(t.Context(), s.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), tokensOnlyGrow); err != nil {
		t.Fatal(err)
	}
	return s
}

// sell lets buyers order 1 to 3 units, each once, until a SKU is sold out, and compares their answers with the rows.
func (s *site) sell(units int64, segments int) {
	s.t.Helper()
	if sold := s.sellUntil(nil, units, segments); sold != units {
		s.t.Errorf("%d of %d units were sold", sold, units)
	}
}

// sellUntil is sell for buyers that leave when enough is closed. Until then they rest after each order, because a test
// that waits for something else needs the processors as well.
func (s *site) sellUntil(enough <-chan struct{}, units int64, segments int) (told int64) {
	s.t.Helper()
	const buyers, rest = 32, 50 * time.Millisecond
	var services [2]*client.Service
	for i := range services {
		service, err := client.NewService(s.apps[i].URL(), buyers, busytest.Patience)
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(service.Close)
		services[i] = service
	}
	sku := "hot-" + strconv.FormatUint(rand.Uint64(), 36) // locks of the tests share Redis servers
	created, err := services[0].CreateSKU(s.t.Context(), sku, client.NewSKU{Stock: units, Segments: &segments})
	if err = errors.Join(err, created.Err()); err != nil {
		s.t.Fatal(err)
	}
	var sold atomic.Int64
	var wg sync.WaitGroup
	for buyer := range buyers {
		wg.Go(func() {
			for n := 0; ; n++ {
				order := client.NewDeduction{OrderID: fmt.Sprintf("%d-%d", buyer, n), Quantity: int64(n%3) + 1}
				answer, err := services[(buyer+n)%len(services)].Deduct(s.t.Context(), sku, order)
				switch {
				case err == nil && answer.OK():
					sold.Add(order.Quantity)
				case err == nil && answer.Problem != nil && answer.Problem.Code == client.InsufficientStock:
				case err == nil && answer.Problem != nil && answer.Problem.Code == client.SoldOut:
					return
				default:
					s.t.Errorf("order %s: %v", order.OrderID, errors.Join(err, answer.Err()))
					return
				}
				if enough == nil {
					continue
				}
				select {
				case <-enough:
					return
				case <-time.After(rest):
				}
			}
		})
	}
	wg.Wait()
	if b := s.audit(sku); b.Committed != sold.Load() || b.Available != units-sold.Load() {
		s.t.Errorf("buyers were told of %d units of %d, the rows: %+v", sold.Load(), units, b)
	}
	return sold.Load()
}

// audit checks I1 and I3 on the rows of a SKU.
func (s *site) audit(sku string) stock.Balance {
	s.t.Helper()
	var audit stock.Audit
	err := inTime(s.t, func() error {
		store, err := app.OpenForReading(s.t.Context(), s.url)
		if err != nil {
			return err
		}
		audit, err = store.Audit(s.t.Context(), sku, nil)
		return errors.Join(err, unlessLate(store.Close()))
	})
	if err != nil || !audit.OK() || len(audit.SKUs) != 1 {
		s.t.Fatalf("audit: %+v, %v", audit, err)
	}
	return audit.SKUs[0]
}

// metric reads a service's metric, 0 if it has none of that name.
func (s *site) metric(a *app.App, name string) int64 {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, a.AdminURL()+"/metrics", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\d+)$`).FindSubmatch(body)
	if found == nil {
		return 0
	}
	n, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// TestMetricShowsThatLocksFail stops a service's Redis and starts it again.
func TestMetricShowsThatLocksFail(t *testing.T) {
	t.Parallel()
	server, err := servertest.StartRedis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	s := open(t, app.LockFair, server.URL()) // it locks even for a single order
	service, err := client.NewService(s.apps[0].URL(), 1, busytest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(service.Close)
	created, err := service.CreateSKU(t.Context(), "cold", client.NewSKU{Stock: 1_000_000})
	if err = errors.Join(err, created.Err()); err != nil {
		t.Fatal(err)
	}
	orders := int64(0)
	sellUntil := func(failing int64) {
		t.Helper()
		busytest.Soon(t, fmt.Sprint("inventory_locks_failing is ", failing), func() bool {
			if s.metric(s.apps[0], "inventory_locks_failing") == failing {
				return true
			}
			answer, err := service.Deduct(t.Context(), "cold", client.NewDeduction{OrderID: fmt.Sprint(orders), Quantity: 1})
			if err = errors.Join(err, answer.Err()); err != nil {
				t.Fatal(err)
			}
			orders++
			return false
		})
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	sellUntil(1)
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	sellUntil(0)
	if b := s.audit("cold"); b.Committed != orders {
		t.Errorf("sold %d of %d", b.Committed, orders)
	}
}

// TestRedLockNeedsMostOfItsServers: a service does not start if it could never get locks.
func TestRedLockNeedsMostOfItsServers(t *testing.T) {
	t.Parallel()
	_, err := tryStart(t, app.Config{
		DatabaseURL: "sqlite:" + t.TempDir() + "/inventory.db", Lock: app.LockRed,
		RedisURL: redisServers[0].URL() + ",redis://127.0.0.1:1,redis://127.0.0.1:2",
	})
	if err == nil || !strings.Contains(err.Error(), "reach Redis: 2 of 3 do not answer") {
		t.Errorf("got %v", err)
	}
}

// TestAnEmbeddedRedLockLocks: its servers inside the process are different servers.
func TestAnEmbeddedRedLockLocks(t *testing.T) {
	t.Parallel()
	a := start(t, app.Config{RedisURL: app.Embedded, Lock: app.LockRed})
	ready(t, a, "ok")
	busytest.Soon(t, "inventory_locks_failing is 0", func() bool { return (&site{t: t}).metric(a, "inventory_locks_failing") == 0 })
}
