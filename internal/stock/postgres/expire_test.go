package postgres_test

import (
	"testing"
	"time"

	"inventory/internal/stock"
)

// TestExpiryMeetsALateExtension: an expiry waits for a reservation that is being extended, until the new end has passed too. Its
// units come back once all the same.
func TestExpiryMeetsALateExtension(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t, 10)
	orders := []stock.Order{{OrderID: "o", Quantity: 3, ReserveFor: time.Hour}, {OrderID: "live", Quantity: 5, ReserveFor: time.Hour}}
	if _, err := store.Deduct(t.Context(), stock.Batch{SKU: "a", Layout: 1, Orders: orders}); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"UPDATE deductions SET expires_at = clock_timestamp() WHERE order_id = 'o'",
		"BEGIN",
		"UPDATE deductions SET expires_at = clock_timestamp() + interval '50 ms' WHERE order_id = 'o'",
	} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	expired := make(chan int)
	go func() {
		defer close(expired)
		n, err := store.Expire(t.Context(), "a", time.Time{})
		if err != nil {
			t.Error(err)
		}
		expired <- n
	}()
	waits := "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')"
	for waiting := false; !waiting; {
		if err := conn.QueryRow(t.Context(), waits).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Exec(t.Context(), "SELECT pg_sleep(0.1)"); err != nil { // until the new end has passed
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	total := <-expired
	n, err := store.Expire(t.Context(), "a", time.Time{})
	if total += n; err != nil || total != 1 {
		t.Errorf("%d reservations have expired, want 1; %v", total, err)
	}
	audit, err := store.Audit(t.Context(), "a")
	if err != nil || !audit.OK() || audit.SKUs[0].Available != 5 || audit.SKUs[0].Reserved != 5 {
		t.Errorf("%+v, %v", audit, err)
	}
}
