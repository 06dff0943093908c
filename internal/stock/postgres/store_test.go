package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"inventory/internal/servertest"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/stocktest"
	"inventory/migrations"
)

// server is the private PostgreSQL of this package's tests.
var server *servertest.Postgres

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	var err error
	if server, err = servertest.StartPostgres(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code = m.Run()
	if err := errors.Join(server.Stop(), goleak.Find()); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func TestStore(t *testing.T) {
	template, _, err := server.CreateDatabase(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	migrate(t, template)
	stocktest.Run(t, func(t *testing.T) stocktest.Bench {
		url, drop, err := server.CreateDatabase(t.Context(), nameOf(t, template))
		if err != nil {
			t.Fatal(err)
		}
		store, err := postgres.Open(t.Context(), url, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
			if err := drop(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		return stocktest.Bench{Store: store, Exec: func(ctx context.Context, statement string) error {
			conn, err := pgx.Connect(ctx, url)
			if err != nil {
				return err
			}
			defer conn.Close(ctx)
			_, err = conn.Exec(ctx, statement)
			return err
		}}
	})
}

func migrate(t *testing.T, url string) {
	t.Helper()
	m, err := migrations.OpenPostgres(url)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Up(); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

// nameOf returns the database's name in a postgres:// URL.
func nameOf(t *testing.T, url string) string {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	return config.Database
}

// TestConstraintThatFiresIsTheGuard adds a constraint that no statement of ours knows of.
func TestConstraintThatFiresIsTheGuard(t *testing.T) {
	url, drop, err := server.CreateDatabase(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	migrate(t, url)
	store, err := postgres.Open(t.Context(), url, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(store.Close(), drop(context.WithoutCancel(t.Context()))); err != nil {
			t.Error(err)
		}
	})
	if _, err := store.CreateSKU(t.Context(), stock.NewSKU{SKU: "a", Stock: 10, Segments: 2}, time.Now()); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "ALTER TABLE deductions ADD CHECK (order_id <> 'poison')"); err != nil {
		t.Fatal(err)
	}
	poison := []stock.Order{{OrderID: "good", Quantity: 1}, {OrderID: "poison", Quantity: 1}}
	if _, err := store.Deduct(t.Context(), stock.Batch{SKU: "a", At: time.Now(), Orders: poison}); !errors.Is(err, stock.ErrGuard) {
		t.Errorf("batch: %v", err)
	}
	if _, err := store.Merge(t.Context(), stock.Merge{SKU: "a", At: time.Now(), Orders: poison}); !errors.Is(err, stock.ErrGuard) {
		t.Errorf("merge: %v", err)
	}
	if status, err := store.Status(t.Context(), "a"); err != nil || status.Available != 10 {
		t.Errorf("something was written: %+v, %v", status, err)
	}
}
