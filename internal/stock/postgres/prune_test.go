package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// TestPruneWaitsForNobody: rows that another transaction holds are left for later.
func TestPruneWaitsForNobody(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		store, conn := fresh(t, 10)
		orders := []stock.Order{{OrderID: "o", Quantity: 1}, {OrderID: "p", Quantity: 2}}
		if _, err := store.Deduct(t.Context(), stock.Batch{SKU: "a", Layout: 1, Orders: orders}); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Archive(t.Context(), "a", time.Time{}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			lock string
			want stock.Pruned
		}{
			{"SELECT FROM stock_segments FOR UPDATE", stock.Pruned{Busy: true}},
			{"SELECT pg_advisory_xact_lock(7325064182)", stock.Pruned{Busy: true}}, // another one prunes
			{"SELECT FROM deductions WHERE order_id = 'o' FOR UPDATE", stock.Pruned{Deductions: 1, Units: 2}},
			{"UPDATE skus SET kept = kept", stock.Pruned{Deductions: 1, Units: 1}}, // as a commit of another order does
		} {
			if _, err := conn.Exec(t.Context(), "BEGIN; SET LOCAL lock_timeout = 0; "+c.lock); err != nil {
				t.Fatal(err)
			}
			got, err := store.Prune(t.Context(), stock.Pruning{SKU: "a", OrderIDs: []string{"o", "p"}, Before: store.Now().Add(time.Hour)})
			if fmt.Sprint(got, err) != fmt.Sprint(c.want, nil) {
				t.Errorf("%s: %+v, %v", c.lock, got, err)
			}
			if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
				t.Fatal(err)
			}
		}
		if audit, err := store.Audit(t.Context(), "", nil); err != nil || !audit.OK() || audit.SKUs[0].Committed != 3 {
			t.Errorf("%+v, %v", audit, err)
		}
	})
}
