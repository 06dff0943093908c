package sqlite_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/sqlite"
	"inventory/internal/stock/stocktest"
)

// TestPruneBesideAWriter: during a long write of another process, nothing is pruned, and that is no error.
func TestPruneBesideAWriter(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	file := stocktest.SQLiteFile(t)
	store := openFile(t, file)
	beside, err := sql.Open("sqlite", sqlite.DSN(file))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := beside.Close(); err != nil {
			t.Error(err)
		}
	}()
	release, err := hold(t.Context(), beside)
	if err != nil {
		t.Fatal(err)
	}
	got, err := store.Prune(t.Context(), stock.Pruning{SKU: "a", OrderIDs: []string{"o"}, Before: time.Now()})
	if want := (stock.Pruned{Busy: true}); fmt.Sprint(got, err) != fmt.Sprint(want, nil) {
		t.Errorf("%+v, %v", got, err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if got, err := store.Prune(t.Context(), stock.Pruning{SKU: "a", OrderIDs: []string{"o"}, Before: time.Now()}); got.Busy || err != nil {
		t.Errorf("afterwards: %+v, %v", got, err)
	}
}
