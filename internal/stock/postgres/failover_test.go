package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/servertest"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/selling"
)

// TestOrdersFollowAPromotedStandby: a primary dies, is switched over, or stands still in the middle of a sale, and its
// standby is promoted. Then orders continue there. No acknowledged order is lost if commits waited for the standby, or
// if the primary was shut down in order.
func TestOrdersFollowAPromotedStandby(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	dies := func(_ context.Context, primary *servertest.Postgres) error { return primary.Kill() }
	standsStill := func(_ context.Context, primary *servertest.Postgres) error { return primary.Pause() }
	shutsDown := func(ctx context.Context, primary *servertest.Postgres) error { return primary.Shutdown(ctx) }
	for name, c := range map[string]struct {
		end                  func(ctx context.Context, primary *servertest.Postgres) error
		synchronous, mayLose bool
		after                time.Duration // how long no server takes writes
	}{
		"dies":                      {dies, false, true, 0},
		"dies, synchronous":         {dies, true, false, 0},
		"is switched over":          {shutsDown, false, false, 0},
		"stands still":              {standsStill, false, true, 0},
		"stands still for long":     {standsStill, false, true, 3 * time.Second},
		"stands still, synchronous": {standsStill, true, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			primary, standby, url := withFollower(t)
			if err := primary.Await(t.Context(), c.synchronous); err != nil {
				t.Fatal(err)
			}
			s := sellAt(t, url, primary)
			s.accepts(200)
			if err := c.end(t.Context(), primary); err != nil {
				t.Fatal(err)
			}
			time.Sleep(c.after)
			if err := standby.Promote(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.accepts(200) // a primary that stands still does so until the test ends
			s.end()
			if lost := s.lost(standby); lost > 0 && !c.mayLose {
				t.Errorf("%d acknowledged orders are lost", lost)
			}
		})
	}
}

// withFollower returns a primary with a database, its standby, and the URL of that database on whichever of the two
// takes writes.
func withFollower(t *testing.T) (primary, standby *servertest.Postgres, url string) {
	t.Helper()
	primary, err := servertest.StartPostgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stopLater(t, primary)
	migrate(t, primary.URL())
	if standby, err = servertest.StartStandby(t.Context(), primary); err != nil {
		t.Fatal(err)
	}
	stopLater(t, standby)
	url = strings.Replace(primary.URL(), primary.Addr(), primary.Addr()+","+standby.Addr(), 1) + "&target_session_attrs=read-write"
	return primary, standby, url
}

// stopLater stops a server, also one that stands still, when the test ends.
func stopLater(t *testing.T, server *servertest.Postgres) {
	t.Cleanup(func() {
		if err := errors.Join(server.Kill(), server.Stop()); err != nil {
			t.Error(err)
		}
	})
}

// sale has buyers that order until its end, and records their acknowledged orders.
type sale struct {
	t        *testing.T
	service  *selling.Service
	end      func() // waits for the buyers
	accepted atomic.Int64
	mu       sync.Mutex
	orders   []string // acknowledged
}

const saleSKU = "hot"

// sellAt begins a sale in a database, which is on a primary.
func sellAt(t *testing.T, url string, primary *servertest.Postgres) *sale {
	t.Helper()
	store, err := postgres.Open(t.Context(), url, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := &sale{t: t, service: selling.NewService(selling.Config{Store: store, AnswerWithin: busytest.Patience})}
	sku := stock.NewSKU{SKU: saleSKU, Stock: 10_000_000, Segments: 4}
	beside, err := postgres.OpenPatiently(t.Context(), primary.URL(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := beside.CreateSKU(t.Context(), sku, time.Time{}); errors.Join(err, beside.Close()) != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var buyers sync.WaitGroup
	for n := range 32 {
		buyers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					s.buy(fmt.Sprint(n, "-", i))
				}
			}
		})
	}
	s.end = sync.OnceFunc(func() { close(stop); buyers.Wait() })
	t.Cleanup(func() {
		s.end()
		if err := errors.Join(s.service.Close(context.WithoutCancel(t.Context())), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *sale) buy(id string) {
	_, created, err := s.service.Deduct(s.t.Context(), saleSKU, stock.Order{OrderID: id, Quantity: 1})
	if err != nil || !created {
		time.Sleep(5 * time.Millisecond) // the servers of the other tests need the processors
		return
	}
	s.mu.Lock()
	s.orders = append(s.orders, id)
	s.mu.Unlock()
	s.accepted.Add(1)
}

// accepts waits until that many more orders have been accepted.
func (s *sale) accepts(more int64) {
	s.t.Helper()
	want := s.accepted.Load() + more
	busytest.Soon(s.t, fmt.Sprintf("%d more orders are accepted", more), func() bool { return s.accepted.Load() >= want })
}

// lost counts the acknowledged orders without a row at the promoted standby. The existing rows must add up.
func (s *sale) lost(promoted *servertest.Postgres) int {
	s.t.Helper()
	store := openStore(s.t, promoted.URL())
	if audit, err := store.Audit(s.t.Context(), saleSKU, nil); err != nil || !audit.SKUs[0].OK() {
		s.t.Errorf("the audit finds %+v (%v)", audit, err)
	}
	missing := 0
	for ids := s.orders; len(ids) > 0; {
		n := min(1000, len(ids))
		found, err := store.Deductions(s.t.Context(), saleSKU, ids[:n])
		if err != nil {
			s.t.Fatal(err)
		}
		missing, ids = missing+n-len(found), ids[n:]
	}
	return missing
}
