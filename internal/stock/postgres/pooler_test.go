package postgres_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/migrations"
)

// database returns the URL of a new database with the schema.
func database(t *testing.T) string {
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

// sell sells through a store, in each way that it has, and returns the audit's error.
func sell(t *testing.T, store *postgres.Store) {
	t.Helper()
	for _, sku := range []string{"a", "b"} {
		if _, err := store.CreateSKU(t.Context(), stock.NewSKU{SKU: sku, Stock: 200, Segments: 2}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	var buyers sync.WaitGroup
	for buyer := range 8 {
		buyers.Go(func() {
			for n := range 10 {
				id := fmt.Sprintf("%d-%d", buyer, n)
				order := stock.Order{OrderID: id, Quantity: 2, ReserveFor: time.Minute}
				_, err := joining{store}.Deduct(t.Context(), stock.Batch{SKU: "a", Segment: n % 2, Layout: 1, At: time.Now(), Orders: []stock.Order{order}})
				if err != nil {
					t.Error(err)
					return
				}
				for _, request := range []stock.SettleRequest{
					{OrderID: id, Ref: "longer", Verb: stock.Extend, ExtendFor: time.Hour}, {OrderID: id, Ref: "back", Verb: stock.Cancel, Quantity: 1}, {OrderID: id},
				} {
					if _, err := store.Settle(t.Context(), stock.Settlement{SKU: "a", At: time.Now(), Requests: []stock.SettleRequest{request}}); err != nil {
						t.Error(err)
					}
				}
				if _, err := store.Views(t.Context(), "a"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	buyers.Wait()
	if _, err := store.Merge(t.Context(), stock.Batch{SKU: "b", Layout: 1, At: time.Now(), Orders: []stock.Order{{OrderID: "m", Quantity: 150}}}); err != nil {
		t.Error(err)
	}
	if _, err := store.Move(t.Context(), restock("b", "r")); err != nil {
		t.Error(err)
	}
	audit, err := store.Audit(t.Context(), "", nil)
	if err != nil || !audit.OK() || audit.SKUs[0].Committed != 80 || audit.SKUs[1].Committed != 150 {
		t.Errorf("audit: got %+v, %v, want no difference and no violation", audit, err)
	}
}

// hears waits until a store hears of a restock by another one, or until it says why it cannot: what is wanted. On a slow machine,
// a store may give up listening before.
func hears(t *testing.T, store, other *postgres.Store, want error) {
	t.Helper()
	busytest.Soon(t, fmt.Sprintf("a store listens, and that ends with %v", want), func() bool {
		err := listens(t, store, other)
		if errors.Is(err, postgres.ErrDeaf) && want == nil || err == nil && want != nil {
			t.Fatalf("it listens: %v, want %v", err, want)
		}
		return errors.Is(err, want)
	})
}

// listens returns nil when a store has heard of a restock by another one.
func listens(t *testing.T, store, other *postgres.Store) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	listening, heard, over := make(chan struct{}), make(chan string, 1), make(chan error, 1)
	go func() { over <- store.Watch(ctx, func() { close(listening) }, func(sku string) { heard <- sku }) }()
	select {
	case <-listening:
	case err := <-over:
		return err
	}
	if _, err := other.Move(t.Context(), restock("b", rand.Text())); err != nil {
		t.Fatal(err)
	}
	select {
	case <-heard:
		cancel()
		if err := <-over; !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	case err := <-over:
		return err
	}
}

// openStore opens a store for as long as a test runs.
func openStore(t *testing.T, url string) *postgres.Store {
	t.Helper()
	store, err := postgres.OpenPatiently(t.Context(), url, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// TestAPoolerOfSessions: where the URL says so, a session is as one without a pooler.
func TestAPoolerOfSessions(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		direct := database(t)
		through, _ := startPooler(t, neverShares, direct)
		store := openStore(t, through+"&search_path=public&default_query_exec_mode=cache_statement")
		sell(t, store)
		hears(t, store, openStore(t, direct), nil)
	})
}

// TestAPoolerOfTransactions: a session is somebody else's a moment later.
func TestAPoolerOfTransactions(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	direct := database(t)
	through, p := startPooler(t, betweenTransactions, direct)
	store := openStore(t, through)
	sell(t, store)
	hears(t, store, store, postgres.ErrDeaf)
	for name, query := range map[string]string{
		"settings":            `SELECT count(*) FROM pg_settings WHERE source = 'session' AND name <> 'application_name'`,
		"channels":            `SELECT count(*) FROM pg_listening_channels()`,
		"prepared statements": `SELECT count(*) FROM pg_prepared_statements`,
		"locks":               `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()`,
	} {
		for _, left := range p.eachIdle(query) {
			if left != "0" {
				t.Errorf("%s that are left in a session: %s, want %v", name, left, "0")
			}
		}
	}
	if err := store.ListenAt(direct); err != nil {
		t.Fatal(err)
	}
	hears(t, store, openStore(t, through), nil)          // past the pooler
	if err := store.ListenAt(server.URL()); err != nil { // another database
		t.Fatal(err)
	}
	hears(t, store, store, postgres.ErrDeaf)
}

// TestAPoolerThatCannotBeUsed: it shares connections, and the sessions would be wrong.
func TestAPoolerThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		shares             shares
		setting, parameter string
		want               string
	}{
		"statements":      {betweenStatements, "", "", "pool_mode = transaction"},
		"isolation":       {betweenTransactions, "default_transaction_isolation = 'serializable'", "", "SET default_transaction_isolation = 'read committed'"},
		"the URL asks":    {betweenTransactions, "", "&search_path=elsewhere", "SET search_path = 'elsewhere'"},
		"escapes":         {betweenTransactions, "standard_conforming_strings = off", "", "SET standard_conforming_strings = 'on'"},
		"client encoding": {betweenTransactions, "client_encoding = 'LATIN1'", "", "SET client_encoding = 'UTF8'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct := database(t)
			if c.setting != "" {
				set(t, direct, c.setting)
			}
			through, _ := startPooler(t, c.shares, direct)
			store, err := postgres.OpenPatiently(t.Context(), through+c.parameter, 0)
			if err == nil {
				err = store.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %s", err, c.want)
			}
		})
	}
}

// set changes a setting of a database for later sessions.
func set(t *testing.T, url, setting string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "ALTER DATABASE "+pgx.Identifier{conn.Config().Database}.Sanitize()+" SET "+setting); err != nil {
		t.Fatal(err)
	}
}

// TestManyMigrateThroughAPooler that shares connections between transactions.
func TestManyMigrateThroughAPooler(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	direct, drop, err := server.CreateDatabase(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := drop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	through, p := startPooler(t, betweenTransactions, direct)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			m, err := migrations.OpenPostgres(through, postgres.Settle)
			if err != nil {
				t.Error(err)
				return
			}
			if err := errors.Join(m.Up(t.Context()), m.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, locks := range p.eachIdle(`
		SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`) {
		if locks != "0" {
			t.Errorf("locks that are left: %s, want %v", locks, "0")
		}
	}
	sell(t, openStore(t, through))
}
