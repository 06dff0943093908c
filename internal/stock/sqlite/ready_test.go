package sqlite_test

import (
	"errors"
	"os"
	"testing"

	"inventory/internal/stock"
	"inventory/internal/stock/sqlite"
	"inventory/internal/stock/stocktest"
)

// used returns a database file that a store has used.
func used(t *testing.T) string {
	t.Helper()
	file := stocktest.SQLiteFile(t)
	store, err := sqlite.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if err = errors.Join(store.Ready(t.Context()), store.Close()); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestAFileThatCannotBeWrittenIsNotReady has SQLite open a file as it does without permission, which stops no root: it does
// not know how to write a format of that number.
func TestAFileThatCannotBeWrittenIsNotReady(t *testing.T) {
	t.Parallel()
	file := used(t)
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte{3}, 18)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	readable, ready := store.Ping(t.Context()), store.Ready(t.Context())
	if readable != nil || !errors.Is(ready, stock.ErrNotWritable) {
		t.Errorf("reads: %v, ready: %v", readable, ready)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}
