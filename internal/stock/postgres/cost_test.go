package postgres_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock/postgres"
)

// reservations are more than a statement that only reads should ever go through.
const reservations = 20_000

// TestLooksDoNotGrowWithReservations counts the pages that are read for a SKU with very many live reservations:
// strangers can make them, and any caller may read the SKU.
func TestLooksDoNotGrowWithReservations(t *testing.T) {
	t.Parallel()
	conn := connection(t)
	for _, statement := range []string{
		`INSERT INTO skus (sku_id, name, initial, segments, created_at) VALUES ('a', '', 1000000, 10, now())`,
		`INSERT INTO stock_segments (sku_id, segment, available, reserved) SELECT 'a', s, 98000, 2000 FROM generate_series(0, 9) s`,
	} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	_, err := conn.Exec(t.Context(), `
		INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at)
		SELECT 'a', 'order-' || n, 1, n % 10, 'reserved', now() + interval '1 hour', now() FROM generate_series(1, $1) n`, reservations)
	if err != nil {
		t.Fatal(err)
	}
	all := postgres.Statements()
	for name, args := range map[string][]any{
		"statuses":          {"a", "", 100, nil, nil, nil},
		"next_expiry":       {"a", nil, nil, 1},
		"views":             {[]string{"a"}, nil},
		"has_expired":       {"a", nil, nil},
		"skus_with_expired": {nil, nil, 10},
		"expire":            {"a", nil, 2000, nil},
		"expire_free":       {[]string{"a"}, []int32{0}, nil, 2000, nil},
		"page_end":          {"a", "order-2", 199},
		"page":              {"a", "order-2", "order-2100", "nobody", "", "", 100},
	} {
		if pages := pagesOf(t, conn, all.Of(name).Text, args); pages > 100 {
			t.Errorf("%s reads %d pages", name, pages)
		}
	}
}

// TestListsOfSKUsReadAPage counts the pages that a part of a long list, and of a search in it, reads.
func TestListsOfSKUsReadAPage(t *testing.T) {
	t.Parallel()
	conn := connection(t)
	for _, statement := range []string{
		`INSERT INTO skus (sku_id, name, initial, segments, created_at) SELECT 'sku-' || n, 'the item', 9, 1, now() FROM generate_series(1, 20000) n`,
		`INSERT INTO stock_segments (sku_id, segment, available) SELECT 'sku-' || n, 0, 9 FROM generate_series(1, 20000) n`,
		`VACUUM ANALYZE skus, stock_segments`,
	} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	all := postgres.Statements()
	for name, args := range map[string][]any{
		"names":    {"sku-9", 100},
		"statuses": {"sku-9", "", 10, nil, nil, nil},
	} {
		if pages := pagesOf(t, conn, all.Of(name).Text, args); pages > 200 {
			t.Errorf("%s reads %d pages", name, pages)
		}
	}
}

// TestSearchesSkipReservationsThatHaveEnded: while an old snapshot is open, an index keeps the entries of reservations that have ended. A
// search reads none from before the instant until which none is live, and none that lie ahead while units are left. The control reads all
// of them.
func TestSearchesSkipReservationsThatHaveEnded(t *testing.T) {
	t.Parallel()
	const each = 5000
	conn := connection(t)
	snapshot, err := pgx.Connect(t.Context(), conn.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close(context.WithoutCancel(t.Context()))
	do := func(on *pgx.Conn, statement string, args ...any) {
		t.Helper()
		if _, err := on.Exec(t.Context(), statement, args...); err != nil {
			t.Fatal(statement, err)
		}
	}
	do(conn, `INSERT INTO skus (sku_id, name, initial, segments, created_at) VALUES ('a', '', 9, 1, now())`)
	do(conn, `INSERT INTO stock_segments (sku_id, segment, available) VALUES ('a', 0, 9)`)
	do(snapshot, `BEGIN ISOLATION LEVEL REPEATABLE READ`)
	do(snapshot, `SELECT FROM skus`)
	do(conn, `INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at)
		SELECT 'a', 'order-' || n, 1, 0, 'reserved', now() + CASE WHEN n % 2 = 0 THEN interval '-1 hour' ELSE interval '1 hour' END, now()
		FROM generate_series(1, 2 * $1::bigint) n`, each)
	do(conn, `UPDATE deductions SET status = 'cancelled'`)
	do(conn, `UPDATE stock_segments SET reserved = 1`)
	do(conn, `VACUUM ANALYZE deductions`)
	now := time.Now()
	swept, all := now.Add(-5*time.Second), postgres.Statements()
	for name, args := range map[string]func(until any) []any{
		"statuses":          func(until any) []any { return []any{"a", "", 1, nil, until, nil} },
		"views":             func(until any) []any { return []any{[]string{"a"}, until} },
		"has_expired":       func(until any) []any { return []any{"a", nil, until} },
		"next_expiry":       func(until any) []any { return []any{"a", nil, until, 1} },
		"skus_with_expired": func(until any) []any { return []any{nil, until, 10} },
		"expire":            func(until any) []any { return []any{"a", nil, 10, until} },
	} {
		skips, control := pagesOf(t, conn, all.Of(name).Text, args(swept)), pagesOf(t, conn, all.Of(name).Text, args(nil))
		if skips > 30 || control < each/100 {
			t.Errorf("%s reads %d pages, and %d if it does not know until when no reservation is live", name, skips, control)
		}
	}
	do(snapshot, `COMMIT`)
}

// pagesOf runs a statement and counts the pages that it reads.
func pagesOf(t *testing.T, conn *pgx.Conn, statement string, args []any) int {
	t.Helper()
	var plan []byte
	if err := conn.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+statement, args...).Scan(&plan); err != nil {
		t.Fatal(statement, err)
	}
	var told []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal(plan, &told); err != nil {
		t.Fatal(err)
	}
	return told[0].Plan.Hit + told[0].Plan.Read
}
