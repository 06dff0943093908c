package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/busytest"
	"inventory/internal/servertest"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/stocktest"
	"inventory/migrations"
)

// server is the private PostgreSQL of this package's tests, and template the URL of a database with the schema.
var (
	server   *servertest.Postgres
	template string
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	var err error
	if server, err = servertest.StartPostgres(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if template, err = newTemplate(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, errors.Join(err, server.Stop()))
		return 1
	}
	code = m.Run()
	if err := errors.Join(server.Stop(), busytest.Leaks()); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// newTemplate creates a database with the schema, which the tests copy: the migrations take several times as long.
func newTemplate(ctx context.Context) (string, error) {
	url, _, err := server.CreateDatabase(ctx, "")
	if err != nil {
		return "", err
	}
	return url, migrated(ctx, url)
}

// TestStore writes batches alone, and shared as soon as they can be. The way of production is one of the two unless writes meet.
func TestStore(t *testing.T) {
	type way struct {
		sharing postgres.Sharing
		cases   []stocktest.Case
	}
	ways := map[string]way{
		"alone":      {postgres.ShareNothing, slices.Concat(stocktest.CalmCases(), stocktest.ForgetCases(), stocktest.RacingCases())},
		"sharing":    {postgres.ShareWaiting, stocktest.RacingCases()},
		"all shared": {postgres.ShareAll, slices.Concat(stocktest.CalmCases(), stocktest.ForgetCases(), stocktest.RacingCases())},
	}
	late := stocktest.LateCases()
	if testing.Short() {
		ways, late = map[string]way{"all shared": {postgres.ShareAll, slices.Concat(stocktest.CalmCases(), stocktest.ForgetCases())}}, nil
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stocktest.RunVirtually(t, benchOf(postgres.Open, way.sharing, ""), way.cases...)
			stocktest.Run(t, benchOf(postgres.OpenPatiently, way.sharing, ""), late...)
		})
	}
}

// TestGroups is TestStore for buyer limits that count over several SKUs.
func TestGroups(t *testing.T) {
	t.Parallel()
	for name, sharing := range map[string]postgres.Sharing{"alone": postgres.ShareNothing, "all shared": postgres.ShareAll} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stocktest.RunVirtually(t, benchOf(postgres.Open, sharing, ""), stocktest.GroupCases()...)
		})
	}
}

// TestStoreInEveryMode sends every statement in each other way that the driver knows and a URL may ask for: shared ones, and where
// these refuse something, those of one batch. Collisions do not depend on the way. In the mode describe_exec the driver sends
// what it does in cache_describe, and asks for the types each time.
func TestStoreInEveryMode(t *testing.T) {
	busytest.Slow(t)
	for _, mode := range []string{"cache_describe", "exec"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			stocktest.RunVirtually(t, benchOf(postgres.Open, postgres.ShareAll, "&default_query_exec_mode="+mode), stocktest.CalmCases()...)
		})
	}
}

// benchOf opens databases for the suite, with further parameters in the URL.
func benchOf(open opening, sharing postgres.Sharing, parameters string) func(t *testing.T) stocktest.Bench {
	return func(t *testing.T) stocktest.Bench {
		url, drop, err := server.CreateDatabase(t.Context(), template)
		if err != nil {
			t.Fatal(err)
		}
		store, err := open(t.Context(), url+parameters, 0)
		if err != nil {
			t.Fatal(err)
		}
		store.SetSharing(sharing)
		t.Cleanup(func() {
			if err := errors.Join(store.Close(), drop(context.WithoutCancel(t.Context()))); err != nil {
				t.Error(err)
			}
		})
		return stocktest.Bench{Store: joining{store}, Exec: func(ctx context.Context, statement string) error {
			conn, err := pgx.Connect(ctx, url)
			if err != nil {
				return err
			}
			defer conn.Close(ctx)
			_, err = conn.Exec(ctx, statement)
			return err
		}, Hold: func(ctx context.Context) (release func() error, err error) { return hold(ctx, url) }, Dump: func(ctx context.Context) ([]string, error) {
			return dump(ctx, url)
		}}
	}
}

// dump returns every row of every table, each value between blanks.
func dump(ctx context.Context, url string) (all []string, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'`)
	if err != nil {
		return nil, err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, name := range names {
		rows, err := conn.Query(ctx, `SELECT (SELECT ' ' || string_agg(value, ' ') || ' ' FROM jsonb_each_text(to_jsonb(t))) FROM `+name+` AS t`)
		if err != nil {
			return nil, err
		}
		some, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, err
}

// hold locks all rows of a database, until they are released.
func hold(ctx context.Context, url string) (release func() error, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	_, err = conn.Exec(ctx, `
		BEGIN;
		SELECT FROM orders ORDER BY order_id FOR UPDATE;
		SELECT FROM stock_segments ORDER BY sku_id, segment FOR UPDATE;
		SELECT FROM deductions ORDER BY sku_id, order_id FOR UPDATE`)
	if err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return func() error { return conn.Close(ctx) }, nil // which rolls back
}

func migrate(t *testing.T, url string) {
	t.Helper()
	if err := migrated(t.Context(), url); err != nil {
		t.Fatal(err)
	}
}

// migrated gives a database the schema.
func migrated(ctx context.Context, url string) error {
	m, err := migrations.OpenPostgres(url)
	if err != nil {
		return err
	}
	return errors.Join(m.Up(ctx), m.Close())
}

// fresh returns a database with a SKU "a" of one segment, a store on it, and another connection to it.
func fresh(t *testing.T, units int64) (*postgres.Store, *pgx.Conn) {
	t.Helper()
	url, drop, err := server.CreateDatabase(t.Context(), template)
	if err != nil {
		t.Fatal(err)
	}
	store, err := postgres.OpenPatiently(t.Context(), url, 0)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := errors.Join(conn.Close(ctx), store.Close(), drop(ctx)); err != nil {
			t.Error(err)
		}
	})
	if _, err := store.CreateSKU(t.Context(), stock.NewSKU{SKU: "a", Stock: units, Segments: 1}, time.Now()); err != nil {
		t.Fatal(err)
	}
	return store, conn
}

// blocking returns once a session waits for the transaction of a connection, or once the operation that should wait has
// ended.
func blocking[T any](t *testing.T, conn *pgx.Conn, ended chan T) {
	t.Helper()
	const query = `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid)))`
	for len(ended) == 0 && !is(t, conn, query) {
	}
}

// until returns once a query of a connection returns true.
func until(t *testing.T, conn *pgx.Conn, query string) {
	t.Helper()
	for !is(t, conn, query) {
	}
}

// is asks the server a moment later: in virtual time the test cannot sleep while a statement is under way.
func is(t *testing.T, conn *pgx.Conn, query string) (yes bool) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), `SELECT pg_sleep(0.002)`); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRow(t.Context(), query).Scan(&yes); err != nil {
		t.Fatal(err)
	}
	return yes
}

// TestBatchThatWaitedForARestock begins a batch while the restock that it needs is under way: its snapshot has the
// earlier stock, against which PostgreSQL checks the CHECK.
func TestBatchThatWaitedForARestock(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		store, conn := fresh(t, 1)
		if _, err := conn.Exec(t.Context(), "BEGIN; UPDATE stock_segments SET available = available + 9"); err != nil {
			t.Fatal(err)
		}
		type answer struct {
			result stock.BatchResult
			err    error
		}
		answered := make(chan answer, 1)
		go func() {
			orders := []stock.Order{{OrderID: "o", Quantity: 3}}
			result, err := store.Deduct(t.Context(), stock.Batch{SKU: "a", Layout: 1, At: time.Now(), Orders: orders})
			answered <- answer{result, err}
		}()
		blocking(t, conn, answered)
		if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
			t.Fatal(err)
		}
		got := <-answered
		if got.err != nil || got.result.Outcomes[0].Kind != stock.Accepted || got.result.Available != 7 {
			t.Errorf("%+v", got)
		}
	})
}

// textsOf are the columns of the orders' texts, the last arguments of a statement that inserts deductions.
func textsOf(orders []stock.Order) (columns []any) {
	for _, text := range stock.KeptTexts() {
		var column []string
		for _, o := range orders {
			column = append(column, text.Get(o))
		}
		columns = append(columns, column)
	}
	return columns
}

// TestBatchStatementDecidesShortage: a shortage is a result of the statement, without a CHECK that fires.
func TestBatchStatementDecidesShortage(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		_, conn := fresh(t, 5)
		statement := postgres.Statements().Of("deduct").Text
		var before, after *int64
		var orders int64
		var inserted []string
		var at *time.Time
		args := []any{"a", 0, int64(0), "", []string{"o", "p"}, []int32{3, 3}, []int64(nil), int64(6), nil, int64(1), nil, nil, nil}
		err := conn.QueryRow(t.Context(), statement, append(args, textsOf(make([]stock.Order, 2))...)...).
			Scan(&before, &orders, &after, &inserted, &at)
		if err != nil || before == nil || *before != 5 || orders != 0 || after != nil || inserted != nil {
			t.Errorf("before %v, %d orders, after %v, inserted %v, %v", before, orders, after, inserted, err)
		}
	})
}

// TestBatchStatementDecidesLimits: a buyer at the limit is a result too, which names the buyer.
func TestBatchStatementDecidesLimits(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		_, conn := fresh(t, 9)
		statement := postgres.Statements().Of("deduct_limited").Text
		for _, c := range []struct {
			ids, buyers       []string
			inserted, limited []string // nil: all, and none
		}{
			{[]string{"a", "b"}, []string{"x", "y"}, nil, nil},
			{[]string{"c", "d"}, []string{"z", "y"}, []string{"c"}, []string{"d"}},
			{[]string{"a", "e"}, []string{"x", "w"}, []string{"e"}, nil}, // known: another statement reports that
		} {
			var before, after *int64
			var orders int
			var inserted, limited []string
			var stale bool
			var at *time.Time
			args := []any{"a", 0, int64(0), "", c.ids, []int32{1, 1}, []int64(nil), int64(2), nil, int64(1), nil, nil, nil}
			args = append(args, textsOf([]stock.Order{{BuyerID: c.buyers[0]}, {BuyerID: c.buyers[1]}})...)
			err := conn.QueryRow(t.Context(), statement, append(args, int64(1), nil, "a")...).
				Scan(&before, &orders, &after, &inserted, &at, &limited, &stale)
			if err != nil || !slices.Equal(inserted, c.inserted) || !slices.Equal(limited, c.limited) || stale {
				t.Errorf("%s: %d orders, inserted %v, limited %v, stale %v, %v", c.ids, orders, inserted, limited, stale, err)
			}
		}
	})
}

// TestConstraintThatFiresIsTheGuard adds a constraint that no statement of ours expects.
func TestConstraintThatFiresIsTheGuard(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		store, conn := fresh(t, 10)
		if _, err := conn.Exec(t.Context(), "ALTER TABLE deductions ADD CHECK (order_id <> 'poison')"); err != nil {
			t.Fatal(err)
		}
		poison := []stock.Order{{OrderID: "good", Quantity: 1}, {OrderID: "poison", Quantity: 1}}
		if _, err := store.Deduct(t.Context(), stock.Batch{SKU: "a", Layout: 1, At: time.Now(), Orders: poison}); !errors.Is(err, stock.ErrGuard) {
			t.Errorf("batch: %v, want %v", err, stock.ErrGuard)
		}
		if _, err := store.Merge(t.Context(), stock.Batch{SKU: "a", Layout: 1, At: time.Now(), Orders: poison}); !errors.Is(err, stock.ErrGuard) {
			t.Errorf("merge: %v, want %v", err, stock.ErrGuard)
		}
		if status, err := store.Status(t.Context(), "a", time.Now()); err != nil || status.Available != 10 {
			t.Errorf("something was written: %+v, %v", status, err)
		}
	})
}
