package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"inventory/internal/stock/postgres"
)

// seen are the arguments of require_seen, in its order.
type seen struct {
	orderID, ref, buyerID string
	revision              int
	until                 *time.Time
	skus                  []string
	layouts               []int64
	statuses              []string
	quantities            []int64
	ends                  []*time.Time
}

// TestAChangeAtOnceNeedsWhatWasSeen: a usual change is planned before its rows are locked, so its message fails if anything is different
// then. A line that is not there yet is seen without a status.
func TestAChangeAtOnceNeedsWhatWasSeen(t *testing.T) {
	t.Parallel()
	conn := connection(t)
	end, past := time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, statement := range []string{
		`INSERT INTO skus (sku_id, name, initial, segments, created_at) SELECT sku, '', 9, 1, now() FROM unnest('{a,b}'::text[]) AS sku`,
		`INSERT INTO stock_segments (sku_id, segment, available, reserved, layout) SELECT sku, 0, 7, 2, 1 FROM unnest('{a,b}'::text[]) AS sku`,
		`INSERT INTO orders (order_id, buyer_id, created_at) VALUES ('o', 'ann', now())`,
		`INSERT INTO order_lines (order_id, sku_id, quantity) VALUES ('o', 'a', 2)`,
		`INSERT INTO deductions (sku_id, order_id, buyer_id, quantity, segment, status, created_at, expires_at, in_order, revision)
		 VALUES ('a', 'o', 'ann', 2, 0, 'reserved', now(), '2999-01-01Z', true, 1)`,
	} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	passes := func(change func(*seen), meanwhile string) bool {
		t.Helper()
		s := seen{
			"o", "r", "ann", 1, &end, []string{"a", "b"}, []int64{1, 1}, []string{"reserved", ""}, []int64{2, 0}, []*time.Time{&end, nil},
		}
		change(&s)
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := tx.Rollback(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		if _, err := tx.Exec(t.Context(), meanwhile); err != nil {
			t.Fatal(err)
		}
		_, err = tx.Exec(t.Context(), postgres.Statements().Of("require_seen").Text, s.orderID, s.ref, s.buyerID, s.revision, s.until, s.skus,
			s.layouts, s.statuses, s.quantities, s.ends)
		if refused, is := errors.AsType[*pgconn.PgError](err); err != nil && (!is || refused.Code != "IN002") {
			t.Fatal(err)
		}
		return err == nil
	}
	same := func(*seen) {}
	if !passes(same, "") || !passes(func(s *seen) { s.until = nil }, "") || !passes(func(s *seen) { s.layouts[0] = 0 }, "UPDATE stock_segments SET layout = 2 WHERE sku_id = 'a'") {
		t.Error("fails, and all is as it was seen")
	}
	for name, change := range map[string]func(*seen){
		"too late":       func(s *seen) { s.until = &past },
		"another buyer":  func(s *seen) { s.buyerID = "bob" },
		"another order":  func(s *seen) { s.orderID = "p" },
		"an older look":  func(s *seen) { s.revision = 0 },
		"another status": func(s *seen) { s.statuses[0] = "committed" },
		"other units":    func(s *seen) { s.quantities[0] = 3 },
		"another end":    func(s *seen) { s.ends[0] = &past },
		"no line":        func(s *seen) { s.statuses[0], s.quantities[0], s.ends[0] = "", 0, nil },
		"a line more":    func(s *seen) { s.statuses[1], s.quantities[1] = "reserved", 1 },
	} {
		if passes(change, "") {
			t.Errorf("%s: passes", name)
		}
	}
	for name, meanwhile := range map[string]string{
		"pruned":             `UPDATE orders SET pruned = true`,
		"counted":            `UPDATE deductions SET limited = true`,
		"other terms":        `UPDATE stock_segments SET layout = 2 WHERE sku_id = 'b'`,
		"ref of a part":      `INSERT INTO amendments (sku_id, order_id, ref, returned, created_at, kind) VALUES ('a', 'o', 'r', 1, now(), 'cancel')`,
		"ref of an addition": `INSERT INTO additions (sku_id, order_id, ref, kind, units, created_at) VALUES ('a', 'o', 'r', 'reserve', 1, now())`,
		"taken meanwhile": `INSERT INTO deductions (sku_id, order_id, quantity, segment, status, created_at)
			VALUES ('b', 'o', 1, 0, 'committed', now())`,
	} {
		if passes(same, meanwhile) {
			t.Errorf("%s: passes", name)
		}
	}
}
