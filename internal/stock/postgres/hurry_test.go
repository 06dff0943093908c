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
		err := beside.QueryRow(t.Context(), `SELECT coalesce((SELECT pid FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
			ORDER BY backend_start DESC LIMIT 1), 0)`).Scan(&pid)
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	before := process()
	const goesOn = 100 * time.Millisecond // what was sent, at least
	for n := range 200 {
		within, began := rand.N(3*time.Millisecond), time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), within)
		if n%2 == 0 {
			ctx, cancel = context.WithCancel(t.Context())
			time.AfterFunc(within, cancel)
		}
		_, _ = store.Views(ctx, "a")
		_, err := store.Move(ctx, stock.Movement{SKU: "a", Kind: stock.Restocked, Ref: fmt.Sprint(n), Quantity: 1})
		cancel()
		if took := time.Since(began); took > within+goesOn { // on a busy machine: then it may be interrupted
			_, err := store.Views(t.Context(), "a")
			if before = process(); err != nil {
				t.Fatal(err)
			}
		} else if after := process(); after != before {
			t.Fatalf("a caller that left after %s ended the connection, in %s: %v", within, took, err)
		}
	}
	if audit, err := store.Audit(t.Context(), "a"); err != nil || !audit.OK() {
		t.Errorf("got %+v, %v, want an audit that is OK", audit, err)
	}
}
