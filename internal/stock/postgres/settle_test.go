package postgres_test

import (
	"testing"

	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
)

// TestPartsOfWhatWasNotThereYet: a merge commits between the two reads of a settlement, which finds no deduction, but
// its parts. The deduction is unknown: it is not one without a status, which a cancel would take for ended.
func TestPartsOfWhatWasNotThereYet(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t, 9)
	store.SetSharing(postgres.ShareNothing)
	commit := stock.Settlement{SKU: "a", Requests: []stock.SettleRequest{{OrderID: "o"}}}
	if _, err := store.Settle(t.Context(), commit); err != nil { // it prepares the statements
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE deduction_parts"); err != nil {
		t.Fatal(err)
	}
	type settled struct {
		results []stock.Settled
		err     error
	}
	got := make(chan settled, 1)
	go func() {
		results, err := store.Settle(t.Context(), commit)
		got <- settled{results, err}
	}()
	blocking(t, conn, got)
	if _, err := conn.Exec(t.Context(), `
			INSERT INTO deductions (sku_id, order_id, quantity, status, created_at) VALUES ('a', 'o', 2, 'committed', now());
			INSERT INTO deduction_parts VALUES ('a', 'o', 0, 2);
			UPDATE stock_segments SET available = available - 2, version = version + 1;
			COMMIT`); err != nil {
		t.Fatal(err)
	}
	one := <-got
	if one.err != nil {
		t.Fatal(one.err)
	}
	became := one.results[0]
	unknown, there := stock.CodeOf(became.Err) == stock.CodeUnknownDeduction, became.Deduction.Status == stock.StatusCommitted
	if !unknown && !there { // it may exist: over a new connection, it waits before the first read
		t.Errorf("%+v", became)
	}
}
