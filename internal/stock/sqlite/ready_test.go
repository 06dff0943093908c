package sqlite_test

import (
	"errors"
	"os"
	"testing"
	"time"

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

// TestAFileThatCannotBeWrittenIsNotReady makes SQLite open a file as it does without write permission, which does not
// stop root: SQLite cannot write a format with that number.
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

// TestAFileThatHasGoneIsNotWritten: a commit to a file without a name, or to one whose name belongs to another file by
// now, would be lost.
func TestAFileThatHasGoneIsNotWritten(t *testing.T) {
	for name, c := range map[string]func(file string) error{
		"removed": os.Remove,
		"replaced": func(file string) error {
			return errors.Join(os.Rename(file, file+".old"), os.WriteFile(file, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, sharing := range []sqlite.Sharing{sqlite.ShareNothing, sqlite.ShareAll} {
				file := stocktest.SQLiteFile(t)
				store := openFile(t, file)
				store.Share(sharing)
				if _, err := store.CreateSKU(t.Context(), stock.NewSKU{SKU: "a", Stock: 1, Segments: 1}, time.Time{}); err != nil {
					t.Fatal(err)
				}
				if err := c(file); err != nil {
					t.Fatal(err)
				}
				if _, err := store.CreateSKU(t.Context(), stock.NewSKU{SKU: "b", Stock: 1, Segments: 1}, time.Time{}); err == nil {
					t.Error("a SKU was created")
				}
				if err := store.Ready(t.Context()); !errors.Is(err, stock.ErrNotWritable) {
					t.Errorf("the store is ready: %v, want %v", err, stock.ErrNotWritable)
				}
			}
		})
	}
}
