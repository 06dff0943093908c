package sqlite_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/sqlite"
	"inventory/internal/stock/stocktest"
)

// TestAWriteAfterCloseIsRefused: it does not wait for a writer that never comes.
func TestAWriteAfterCloseIsRefused(t *testing.T) {
	store, err := sqlite.Open(t.Context(), stocktest.SQLiteFile(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	_, err = store.CreateSKU(busytest.Context(t), stock.NewSKU{SKU: "a", Stock: 1, Segments: 1}, time.Now())
	if !errors.Is(err, stock.ErrUnwritten) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want %v at once", err, stock.ErrUnwritten)
	}
}
