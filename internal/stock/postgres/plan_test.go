package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/stock/postgres"
)

// TestKeptPlansLookUpByIndex checks the kept plans in an empty database, as at the beginning of a sale, and in one that
// has grown. A SKU may have millions of orders, so no plan reads all of them.
func TestKeptPlansLookUpByIndex(t *testing.T) {
	t.Parallel()
	conn := connection(t)
	for _, name := range []string{"list_by_time", "list_by_buyer"} {
		if _, err := conn.Exec(t.Context(), postgres.Statements().Of(name).Text); err != nil {
			t.Fatal(err)
		}
	}
	for _, state := range []string{"empty", "grown"} {
		if state == "grown" {
			grow(t, conn)
		}
		t.Run(state, func(t *testing.T) {
			for name, statement := range postgres.Statements() {
				if notPlanned[name] {
					continue
				}
				plan := keptPlan(t, conn, statement.Text)
				if why := slow(plan, allAmendments[name]); why != "" {
					t.Errorf("%s: %s\n%s", name, why, strings.Join(plan, "\n"))
				}
			}
		})
	}
}

// notPlanned are the statements without a plan that looks something up: they change no rows, or want all rows of a SKU.
var notPlanned = map[string]bool{
	"session": true, "outbox_limit_wait": true, "outbox_is_there": true, "outbox_status": true, "outbox_lock_on": true, "outbox_on_insert": true, "outbox_on_change": true,
	"outbox_watch_inserts": true, "outbox_watch_changes": true, "outbox_lock_off": true, "outbox_ignore_inserts": true,
	"outbox_ignore_changes": true, "outbox_forget": true,
	"accepted": true, "audit": true, "count_skus": true, "has_more_orders": true, "incomplete_lines": true, "unlisted_deductions": true, "audit_groups": true,
	"forgotten": true, "note_forget_key": true, "orders_listed": true, "list_by_time": true, "list_by_buyer": true, "unlist_by_time": true, "unlist_by_buyer": true,
}

// allAmendments are the statements that want all amendments of an order.
var allAmendments = map[string]bool{"prunable": true, "delete_amendments": true, "amendments_of": true, "insert_retake": true, "insert_addition": true, "forget_in_deduction": true}

// slow returns what is slow about a plan, "" if nothing is. The statement may want all amendments of an order.
func slow(plan []string, allAmendments bool) string {
	second := map[string]string{"deductions_pkey": "order_id", "deduction_parts_pkey": "order_id", "buyers_pkey": "buyer_id", "amendments_pkey": "ref"}
	if allAmendments {
		second["amendments_pkey"] = "order_id"
	}
	// Rows that are read one after another, in the order of the index, until there are enough.
	paged := plan[0] == "Limit" && !strings.Contains(strings.Join(plan, "\n"), "Sort")
	for i, line := range plan {
		if strings.Contains(line, "Seq Scan") || strings.Contains(line, "JIT") {
			return strings.TrimSpace(line)
		}
		if strings.Contains(line, "deductions_by_buyer") && (i+1 == len(plan) || !strings.Contains(plan[i+1], "buyer_id = ")) {
			return "deductions_by_buyer without buyer_id"
		}
		if strings.Contains(line, "Index Scan using deductions_by_expiry") && (i+1 == len(plan) || !strings.Contains(plan[i+1], "expires_at")) {
			return "deductions_by_expiry without expires_at"
		}
		for index, column := range second {
			if !strings.Contains(line, "Scan") || !strings.Contains(line, index) {
				continue
			}
			if i+1 == len(plan) || !strings.Contains(plan[i+1], "Index Cond") || !(paged && strings.Contains(plan[i+1], column+" > ")) && !strings.Contains(plan[i+1], column+" = ") {
				return index + " without " + column
			}
		}
	}
	return ""
}

// TestNumbersAreBig: PostgreSQL takes a parameter that is compared with a small number for an integer of 32 bits, unless its cast says
// what it is. Tokens and instants are larger.
func TestNumbersAreBig(t *testing.T) {
	t.Parallel()
	conn := connection(t)
	for name, statement := range postgres.Statements() {
		if notPlanned[name] {
			continue
		}
		prepared, err := conn.Prepare(t.Context(), name, statement.Text)
		if err != nil {
			t.Fatal(err)
		}
		for n, kind := range prepared.ParamOIDs {
			number, cast := regexp.MustCompile(fmt.Sprintf(`\$%d [=<>]+ \d`, n+1)), fmt.Sprintf("$%d::integer", n+1)
			if kind == pgtype.Int4OID && number.MatchString(statement.Text) && !strings.Contains(statement.Text, cast) {
				t.Errorf("%s: its $%d is compared with a number, so it has 32 bits", name, n+1)
			}
		}
	}
}

// connection is a connection of a store on its own database.
func connection(t *testing.T) *pgx.Conn {
	t.Helper()
	url, drop, err := server.CreateDatabase(t.Context(), template)
	if err != nil {
		t.Fatal(err)
	}
	var only *pgx.Conn // connection of the pool
	store, err := postgres.OpenPatiently(t.Context(), url, 1, func(c *pgxpool.Config) {
		c.AfterConnect = func(_ context.Context, made *pgx.Conn) error {
			only = made
			return nil
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(store.Close(), drop(context.WithoutCancel(t.Context()))); err != nil {
			t.Error(err)
		}
	})
	return only
}

// grow fills the tables: a SKU with very many orders, and very many SKUs with few.
func grow(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for _, statement := range []string{
		`INSERT INTO skus (sku_id, name, initial, segments, created_at) SELECT 'sku-' || n, '', 100000, 2, now() FROM generate_series(1, 2000) n`,
		`INSERT INTO stock_segments (sku_id, segment, available) SELECT 'sku-' || n, s, 1 FROM generate_series(1, 2000) n, generate_series(0, 1) s`,
		`INSERT INTO deductions (sku_id, order_id, buyer_id, quantity, segment, status, created_at)
		 SELECT 'sku-' || CASE WHEN n <= 50000 THEN 1 ELSE n % 2000 + 1 END, 'order-' || n, 'buyer-' || n, 1, 0, 'committed', now()
		 FROM generate_series(1, 60000) n`,
		`INSERT INTO buyers (sku_id, buyer_id, units, most) SELECT 'sku-1', 'buyer-' || n, 1, 1 FROM generate_series(1, 50000) n`,
		`INSERT INTO movements (sku_id, ref, kind, quantity, reason, created_at) SELECT 'sku-1', 'ref-' || n, 'restock', 1, '', now() FROM generate_series(1, 2000) n`,
		`ANALYZE`,
	} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// keptPlan is the plan of a statement for any arguments.
func keptPlan(t *testing.T, conn *pgx.Conn, statement string) []string {
	t.Helper()
	prepared, err := conn.Prepare(t.Context(), "kept", statement)
	if err != nil {
		t.Fatal(err)
	}
	nulls := strings.TrimSuffix(strings.Repeat("NULL, ", len(prepared.ParamOIDs)), ", ")
	if nulls != "" {
		nulls = "(" + nulls + ")"
	}
	rows, err := conn.Query(t.Context(), "EXPLAIN (COSTS OFF) EXECUTE kept "+nulls, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(statement, err)
	}
	var kept bool
	err = conn.QueryRow(t.Context(), `SELECT generic_plans = 1 AND custom_plans = 0 FROM pg_prepared_statements WHERE name = 'kept'`).Scan(&kept)
	if err != nil || !kept {
		t.Fatalf("a plan for these arguments alone, which is not kept, %v: %s", err, statement)
	}
	if err := conn.Deallocate(t.Context(), "kept"); err != nil {
		t.Fatal(err)
	}
	return lines
}
