package postgres_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"inventory/internal/busytest"
	"inventory/internal/servertest"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/selling"
)

// withStandby returns a store on its own server, a function that stalls the standby for which its commits wait, and one that reports
// whether a commit waits.
func withStandby(t *testing.T) (store *postgres.Store, stall func(stalled bool), waits func() bool) {
	t.Helper()
	server, err := servertest.StartPostgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	migrate(t, server.URL())
	if store, err = postgres.OpenPatiently(t.Context(), server.URL(), 0); err != nil {
		t.Fatal(err)
	}
	config, err := pgx.ParseConfig(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	waited := false // the last commit, for the standby
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		waited = waited || strings.Contains(n.Message, "synchronous replication")
	}
	probe, err := pgx.ConnectConfig(t.Context(), config) // by itself: a request to cancel may come after its statement
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := errors.Join(probe.Close(ctx), conn.Close(ctx), store.Close(), server.Stop()); err != nil {
			t.Error(err)
		}
	})
	stall = func(stalled bool) {
		t.Helper()
		standbys := map[bool]string{true: "gone", false: ""}[stalled]
		for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = '" + standbys + "'", "SELECT pg_reload_conf()"} {
			if _, err := conn.Exec(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		// Each process of the server reads its settings in its own time. Commits wait for the standby once one of them
		// was cut off while it waited.
		patience := 20 * time.Millisecond
		for again := true; again && t.Context().Err() == nil; {
			waited = false
			stop := cutting(t.Context(), probe, patience)
			_, err := probe.Exec(t.Context(), "SELECT pg_logical_emit_message(true, 'probe', '')")
			stop()
			if canceled := (*pgconn.PgError)(nil); err != nil && (!errors.As(err, &canceled) || canceled.Code != "57014") {
				t.Fatal(err)
			}
			if again = waited != stalled || !stalled && err != nil; err != nil {
				patience *= 2 // it was cut off on its way
			}
		}
	}
	waits = func() bool {
		t.Helper()
		return is(t, conn, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')`)
	}
	return store, stall, waits
}

// cutting asks the server again and again to cut a connection's statement off, until it is stopped: a request may come before its
// statement.
func cutting(ctx context.Context, conn *pgx.Conn, every time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var cuts sync.WaitGroup
	cuts.Go(func() {
		for {
			select {
			case <-time.After(every):
				_ = conn.PgConn().CancelRequest(ctx) // the next one tries again
			case <-ctx.Done():
				return
			}
		}
	})
	return func() { cancel(); cuts.Wait() }
}

// TestAStalledStandby: an order that the standby does not have is neither visible nor acknowledged, however often it is
// sent, and exists once the standby has it.
func TestAStalledStandby(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	store, stall, waits := withStandby(t)
	sells := func(within time.Duration) *selling.Service {
		service := selling.NewService(selling.Config{Store: store, AnswerWithin: within})
		t.Cleanup(func() {
			if err := service.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		return service
	}
	service, hasty := sells(busytest.Patience), sells(300*time.Millisecond)
	if _, _, err := service.CreateSKU(t.Context(), stock.NewSKU{SKU: "a", Stock: 10, Segments: 1}); err != nil {
		t.Fatal(err)
	}
	stall(true)
	order := stock.Order{OrderID: "o", Quantity: 1}
	for range 2 {
		busytest.Soon(t, "an order waits for the standby", func() bool { // on a slow machine none may get so far in its time
			d, _, err := hasty.Deduct(t.Context(), "a", order)
			if code := stock.CodeOf(err); code != stock.CodeUnavailable && code != stock.CodeOverloaded {
				t.Fatalf("the buyer got %+v, %v, want %s", d, err, stock.CodeUnavailable)
			}
			return waits()
		})
		if status, err := service.SKU(t.Context(), "a"); err != nil || status.Available != 10 {
			t.Errorf("a reader is told %+v, %v", status, err)
		}
		if d, err := service.Deduction(t.Context(), "a", order.OrderID, ""); stock.CodeOf(err) != stock.CodeUnknownDeduction {
			t.Errorf("a reader got %+v, %v, want %s", d, err, stock.CodeUnknownDeduction)
		}
	}
	stall(false)
	if _, created, err := service.Deduct(t.Context(), "a", order); created || err != nil {
		t.Errorf("the standby has it, and the buyer is told: created %v, %v", created, err)
	}
}
