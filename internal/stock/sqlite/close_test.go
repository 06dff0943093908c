package sqlite_test

import (
	"context"
	"errors"
	"testing"
	"time"

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
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = store.CreateSKU(ctx, stock.NewSKU{SKU: "a", Stock: 1, Segments: 1}, time.Now())
	if !errors.Is(err, stock.ErrUnwritten) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want %v at once", err, stock.ErrUnwritten)
	}
}
