package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/stocktest"
)

func TestOutbox(t *testing.T) {
	stocktest.RunOutbox(t, func(t *testing.T) stocktest.OutboxBench {
		store, url := emptyStore(t)
		return stocktest.OutboxBench{Store: store, Outbox: store.Outbox(), Exec: func(ctx context.Context, statement string) error {
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

// emptyStore returns a store on its own database, and that database's URL.
func emptyStore(t *testing.T) (*postgres.Store, string) {
	t.Helper()
	url, drop, err := server.CreateDatabase(t.Context(), template)
	if err != nil {
		t.Fatal(err)
	}
	store, err := postgres.OpenPatiently(t.Context(), url, 0)
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
	return store, url
}

const insertOne = `
INSERT INTO deductions (sku_id, order_id, quantity, segment, status, created_at) VALUES ('a', $1, 1, 0, 'committed', now())`

// TestOutboxWaitsForWhatCommitsLate holds open a transaction that began to write first, and lets others commit.
func TestOutboxWaitsForWhatCommitsLate(t *testing.T) {
	store, conn := fresh(t, 100)
	outbox := store.Outbox()
	if err := outbox.On(t.Context()); err != nil {
		t.Fatal(err)
	}
	read := func(after string) (ids []string, cursor string) {
		t.Helper()
		changes, err := outbox.Read(t.Context(), after, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			ids, after = append(ids, c.OrderID), c.Cursor
		}
		return ids, after
	}
	sell := func(id string) {
		t.Helper()
		batch := stock.Batch{SKU: "a", Layout: 1, At: time.Now(), Orders: []stock.Order{{OrderID: id, Quantity: 1}}}
		if _, err := store.Deduct(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	until := func(want ...string) func(after string) (cursor string) {
		return func(after string) string {
			t.Helper()
			var ids []string
			var cursor string
			busytest.Soon(t, fmt.Sprintf("%v are told", want), func() bool { // other databases' transactions hold them back too
				ids, cursor = read(after)
				return len(ids) >= len(want)
			})
			if !slices.Equal(ids, want) {
				t.Errorf("got %v, want %v", ids, want)
			}
			return cursor
		}
	}
	sell("before")
	cursor := until("before")("")
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), insertOne, "late"); err != nil {
		t.Fatal(err)
	}
	sell("early")
	sell("early too")
	if ids, _ := read(cursor); len(ids) > 0 {
		t.Errorf("%v were told although a transaction before them may commit", ids)
	}
	if _, err := tx.Exec(t.Context(), insertOne, "later"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The rows of the late transaction come first, and together.
	cursor = until("late", "later", "early", "early too")(cursor)
	sell("after")
	until("after")(cursor)
}

// TestOutboxVersionsTellWhichChangeIsTheLater: the transaction with the lower number changes an order last.
func TestOutboxVersionsTellWhichChangeIsTheLater(t *testing.T) {
	store, conn := fresh(t, 100)
	if err := store.Outbox().On(t.Context()); err != nil {
		t.Fatal(err)
	}
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), insertOne, "other"); err != nil {
		t.Fatal(err)
	}
	batch := stock.Batch{SKU: "a", Layout: 1, At: time.Now(), Orders: []stock.Order{{OrderID: "o", Quantity: 1}}}
	if _, err := store.Deduct(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "UPDATE deductions SET status = 'cancelled' WHERE order_id = 'o'"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	var changes []stock.Change
	busytest.Soon(t, "three changes are told", func() bool {
		if changes, err = store.Outbox().Read(t.Context(), "", 10); err != nil {
			t.Fatal(err)
		}
		return len(changes) >= 3
	})
	var last stock.Change
	for _, c := range changes {
		if c.OrderID == "o" && c.Version > last.Version {
			last = c
		}
	}
	if last.Status != "cancelled" {
		t.Errorf("the last change is %+v", last)
	}
}

// TestOutboxIsOrderedByNumbers, not by their digits.
func TestOutboxIsOrderedByNumbers(t *testing.T) {
	store, conn := fresh(t, 1)
	_, err := conn.Exec(t.Context(), `
		INSERT INTO outbox (xid, sku_id, order_id, quantity, status, at)
		SELECT n::text::xid8, 'a', n, 1, 'committed', now() FROM unnest(ARRAY[100, 9, 101, 10, 11, 99]) AS numbers (n)`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for after := ""; ; {
		changes, err := store.Outbox().Read(t.Context(), after, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(changes) == 0 {
			break
		}
		got, after = append(got, changes[0].OrderID), changes[0].Cursor
	}
	if want := []string{"9", "10", "11", "99", "100", "101"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestOutboxMissesNothingThatCommitsInAnyOrder lets many transactions begin, write, linger, and end in any order, some
// by a rollback, while a reader follows with its cursor.
func TestOutboxMissesNothingThatCommitsInAnyOrder(t *testing.T) {
	store, url := emptyStore(t)
	outbox := store.Outbox()
	if err := outbox.On(t.Context()); err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	seed := rand.Uint64()
	const writers = 12
	each := 40
	if testing.Short() {
		each = 10
	}
	var writing sync.WaitGroup
	for writer := range writers {
		random := rand.New(rand.NewPCG(seed, uint64(writer))) //nolint:gosec // no secret
		writing.Go(func() {
			for n := range each {
				if err := writeSlowly(t.Context(), pool, random, fmt.Sprintf("%d-%d", writer, n)); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		})
	}
	written := make(chan struct{})
	go func() {
		writing.Wait()
		close(written)
	}()
	random := rand.New(rand.NewPCG(seed, writers)) //nolint:gosec // no secret
	told, after, want := map[string]bool{}, "", -1
	busytest.Soon(t, "everything that was committed is told", func() bool {
		changes, err := outbox.Read(t.Context(), after, 1+random.IntN(20))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, c := range changes {
			if told[c.OrderID] || strings.HasPrefix(c.OrderID, "rolled back") {
				t.Fatalf("seed %d: %q was told, told before: %v", seed, c.OrderID, told[c.OrderID])
			}
			told[c.OrderID], after = true, c.Cursor
		}
		select {
		case <-written:
			if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM deductions").Scan(&want); err != nil {
				t.Fatal(err)
			}
		default:
		}
		return len(told) == want
	})
	if rest, err := outbox.Read(t.Context(), after, 10); err != nil || len(rest) > 0 {
		t.Errorf("seed %d: still there: %+v, %v", seed, rest, err)
	}
}

// writeSlowly inserts two orders in a transaction that lingers, or is rolled back.
func writeSlowly(ctx context.Context, pool *pgxpool.Pool, random *rand.Rand, id string) error {
	back := random.IntN(5) == 0
	if back {
		id = "rolled back " + id
	}
	tx, err := pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	for _, part := range []string{"-a", "-b"} {
		if _, err := tx.Exec(ctx, insertOne, id+part); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "SELECT pg_sleep($1)", random.ExpFloat64()/500); err != nil { // the test needs it
			return err
		}
	}
	if back {
		return tx.Rollback(ctx)
	}
	return tx.Commit(ctx)
}

// TestOutboxIsTurnedOnBesideALongTransaction, as soon as that one ends.
func TestOutboxIsTurnedOnBesideALongTransaction(t *testing.T) {
	store, conn := fresh(t, 100)
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), insertOne, "long"); err != nil {
		t.Fatal(err)
	}
	turned := make(chan error, 1)
	go func() { turned <- store.Outbox().On(t.Context()) }()
	until(t, conn, `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'deductions'::regclass)`)
	// A seller waits for that no longer than its own time-out.
	batch := stock.Batch{SKU: "a", Layout: 1, At: time.Now(), Orders: []stock.Order{{OrderID: "o", Quantity: 1}}}
	if _, err := store.Deduct(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-turned; err != nil {
		t.Error(err)
	}
}

// TestOutboxRefusesACursorFromElsewhere: its reader would miss what comes until the numbers have reached it, and a trim
// would remove all.
func TestOutboxRefusesACursorFromElsewhere(t *testing.T) {
	t.Parallel()
	store, _ := emptyStore(t)
	for cursor, want := range map[string]error{"": nil, "3.1": nil, "18446744073709551615.1": stock.BadCursor("18446744073709551615.1")} {
		_, err := store.Outbox().Read(t.Context(), cursor, 1)
		_, trim := store.Outbox().Trim(t.Context(), cursor)
		if !errors.Is(err, want) || !errors.Is(trim, want) {
			t.Errorf("%q: read %v, trim %v", cursor, err, trim)
		}
	}
}
