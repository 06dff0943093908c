package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"inventory/internal/stock"
)

// TestACallerInAHurryCostsNoConnection: callers may have milliseconds, or hang up. Their statements go on for a moment, because to
// interrupt one costs the connection, and PostgreSQL a process for the next.
func TestACallerInAHurryCostsNoConnection(t *testing.T) {
	t.Parallel()
	url := database(t)
	store := openStore(t, url+"&pool_max_conns=1")
	if _, err := store.CreateSKU(t.Context(), stock.NewSKU{SKU: "a", Segments: 2}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	beside := session(t, url)
	defer beside.Close(t.Context())
	process := func() (pid int) {
		t.Helper()
		err := beside.QueryRow(t.Context(), `SELECT pid FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`).Scan(&pid)
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	before := process()
	for n := range 200 {
		within := rand.N(3 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), within)
		if n%2 == 0 {
			ctx, cancel = context.WithCancel(t.Context())
			time.AfterFunc(within, cancel)
		}
		_, _ = store.Views(ctx, "a")
		_, err := store.Move(ctx, stock.Movement{SKU: "a", Kind: stock.Restocked, Ref: fmt.Sprint(n), Quantity: 1})
		cancel()
		if after := process(); after != before {
			t.Fatalf("a caller that left after %s ended the connection: %v", within, err)
		}
	}
	if audit, err := store.Audit(t.Context(), "a"); err != nil || !audit.OK() {
		t.Errorf("got %+v, %v, want an audit that is OK", audit, err)
	}
}
