package app_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/app"
	"inventory/internal/servertest"
	"inventory/internal/stock"
)

// TestAStandbyReadsLists: lists come from the standby, and what a caller has just written from the primary. Everything
// comes from the primary while the standby is behind or gone.
func TestAStandbyReadsLists(t *testing.T) {
	t.Parallel()
	primary, err := servertest.StartPostgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stopLater(t, primary.Stop)
	if _, err := app.MigrateUp(t.Context(), primary.URL()); err != nil {
		t.Fatal(err)
	}
	standby, err := servertest.StartStandby(t.Context(), primary)
	if err != nil {
		t.Fatal(err)
	}
	stopLater(t, standby.Stop)
	a, err := app.Start(t.Context(), app.Config{DatabaseURL: primary.URL(), ReadURL: standby.URL(), Lock: app.LockNone})
	if err != nil {
		t.Fatal(err)
	}
	stopLater(t, func() error { return a.Close(context.WithoutCancel(t.Context())) })
	service := a.Service()
	create := func(sku string) {
		t.Helper()
		if _, _, err := service.CreateSKU(t.Context(), stock.NewSKU{SKU: sku, Stock: 1, Segments: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := service.SKU(t.Context(), sku); err != nil {
			t.Errorf("who has created %s is told %v", sku, err)
		}
		if _, err := service.Movements(t.Context(), sku, stock.Position{}, 1); err != nil {
			t.Errorf("its ledger is not even empty: %v", err)
		}
	}
	if _, _, err := service.CreateSKU(t.Context(), stock.NewSKU{SKU: "shop", Stock: 1000, Segments: 1}); err != nil {
		t.Fatal(err)
	}
	// ordered takes a unit, and reports whether the list of deductions has it at once.
	ordered := func(orderID string) bool {
		t.Helper()
		if _, _, err := service.Deduct(t.Context(), "shop", stock.Order{OrderID: orderID, Quantity: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := service.Deduction(t.Context(), "shop", orderID, ""); err != nil {
			t.Errorf("who has ordered %s is told %v", orderID, err)
		}
		page, err := service.Deductions(t.Context(), stock.DeductionQuery{SKU: "shop", Limit: 200})
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(page.Deductions, func(d stock.Deduction) bool { return d.OrderID == orderID })
	}
	listed := func(sku string) bool {
		t.Helper()
		all, err := service.SKUs(t.Context(), "", 200)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(all, func(s stock.Summary) bool { return s.SKU == sku })
	}
	soon := func(sku string, within time.Duration) {
		t.Helper()
		start := time.Now()
		for !listed(sku) {
			if time.Since(start) > within {
				t.Fatalf("%s is not in the list after %v", sku, within)
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Logf("%s is in the list after %s", sku, time.Since(start).Round(time.Millisecond))
	}
	at := func(s *servertest.Postgres, statement string) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), s.URL())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	// asked waits until lists come from the standby: they lack what it has not replayed.
	asked := func(prefix string) {
		t.Helper()
		for start := time.Now(); ; time.Sleep(100 * time.Millisecond) {
			at(standby, "SELECT pg_wal_replay_pause()")
			sku := prefix + time.Since(start).String()
			create(sku)
			lacks := !listed(sku) && !ordered(sku)
			at(standby, "SELECT pg_wal_replay_resume()")
			soon(sku, 20*time.Second)
			if lacks {
				return
			}
			if time.Since(start) > 20*time.Second {
				t.Fatal("the standby is there, and not asked")
			}
		}
	}
	asked("a")
	at(standby, "SELECT pg_wal_replay_pause()")
	create("b")
	soon("b", 20*time.Second) // too far behind: lists come from the primary
	at(standby, "SELECT pg_wal_replay_resume()")
	if err := standby.Kill(); err != nil {
		t.Fatal(err)
	}
	create("c")
	soon("c", 3*time.Second)
	if !ordered("c") {
		t.Error("the primary lists no order")
	}
	if err := standby.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	asked("d")
}

// TestAStandbyNeedsPostgres: SQLite has none.
func TestAStandbyNeedsPostgres(t *testing.T) {
	t.Parallel()
	a, err := app.Start(t.Context(), app.Config{DatabaseURL: "sqlite:" + t.TempDir() + "/a.db", ReadURL: "postgres://nowhere/", Lock: app.LockNone})
	if err == nil {
		stopLater(t, func() error { return a.Close(context.WithoutCancel(t.Context())) })
		t.Error("it starts")
	}
}
