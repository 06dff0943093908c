package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"inventory/internal/busytest"
	"inventory/internal/faultproxy"
	"inventory/internal/servertest"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
)

// TestOrdersLeaveADemotedPrimary: a primary becomes read-only while its connections live on, and new connections reach its standby, which
// was promoted. Soon all orders, reads and notifications go there, and nothing is read from the old server.
func TestOrdersLeaveADemotedPrimary(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	primary, standby, _ := withFollower(t)
	if err := primary.Await(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	store, promote := atAnAddress(t, primary, standby)
	if _, err := store.CreateSKU(t.Context(), stock.NewSKU{SKU: "a", Stock: 1000, Segments: 2}, store.Now()); err != nil {
		t.Fatal(err)
	}
	listening, restocked, over := make(chan struct{}, 8), make(chan string, 8), make(chan error, 1)
	go func() {
		over <- store.Watch(t.Context(), func() { listening <- struct{}{} }, func(sku string) { restocked <- sku })
	}()
	busytest.Receive(t, "the store listens", listening)
	take := func(id string) error {
		_, err := store.Deduct(t.Context(), stock.Batch{SKU: "a", Layout: 1, Orders: []stock.Order{{OrderID: id, Quantity: 1}}})
		return err
	}
	if err := take("before"); err != nil {
		t.Fatal(err)
	}
	promote()
	if err := busytest.Receive(t, "the listener leaves the old server", watchEnds(t, store, take, over)); err == nil {
		t.Error("the listener ended without an error")
	}
	busytest.Soon(t, "an order is accepted", func() bool { return take("after") == nil })
	left := int64(0)
	for n := range 50 {
		status, err := store.Status(t.Context(), "a", store.Now())
		if err != nil || n > 0 && status.Available != left-1 {
			t.Fatalf("read %d: %+v, %v, want %d", n, status, err, left-1)
		}
		left = status.Available
		if err := take(fmt.Sprint("after ", n)); err != nil {
			t.Fatalf("order %d: %v", n, err)
		}
	}
	now, err := postgres.OpenPatiently(t.Context(), standby.URL(), 1)
	if err != nil {
		t.Fatal(err)
	}
	there, err := now.Status(t.Context(), "a", now.Now())
	if err := errors.Join(err, now.Close()); err != nil || there.Available != left-1 {
		t.Errorf("at the new primary: %+v, %v, want %d", there, err, left-1)
	}
	busytest.Soon(t, "no connection leads to the old server", func() bool { return sessionsAt(t, primary) == 0 })
}

// watchEnds sends writes until the listener has ended.
func watchEnds(t *testing.T, store *postgres.Store, take func(string) error, over chan error) chan error {
	t.Helper()
	busytest.Soon(t, "a write or a read notices", func() bool {
		_ = take("notices")
		_, _ = store.Status(t.Context(), "a", store.Now())
		return len(over) > 0
	})
	return over
}

// atAnAddress returns a store at an address that leads to the primary, and a function that makes the primary read-only, promotes the
// standby, and has the address lead there from now on.
func atAnAddress(t *testing.T, primary, standby *servertest.Postgres) (store *postgres.Store, promote func()) {
	t.Helper()
	var leads atomic.Pointer[servertest.Postgres]
	leads.Store(primary)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	proxy := faultproxy.Serve(listener, func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", leads.Load().Addr())
	})
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	store = openStore(t, strings.Replace(primary.URL(), primary.Addr(), proxy.Addr(), 1))
	return store, func() {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), primary.URL())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		for _, statement := range []string{"ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()"} {
			if _, err := conn.Exec(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		if err := standby.Promote(t.Context()); err != nil {
			t.Fatal(err)
		}
		leads.Store(standby)
	}
}

// sessionsAt counts the sessions of the store at a server.
func sessionsAt(t *testing.T, server *servertest.Postgres) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
		AND application_name <> 'standby' AND datname = current_database() AND (application_name LIKE 'inventory%' OR query LIKE '%stock_segments%')`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
