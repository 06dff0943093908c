package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"inventory/internal/stock"
	"inventory/internal/stock/sqlite"
)

// TestAFullDiskIsNotReady: files may not grow, and then may again. The limit is for the whole process, so it is not
// parallel, and the log of SQLite is beyond it: the testing package writes a smaller one.
func TestAFullDiskIsNotReady(t *testing.T) {
	const most = 1 << 20
	file := used(t)
	store, err := sqlite.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	for n, size := 0, int64(0); size <= most; n++ {
		if _, err := store.CreateSKU(t.Context(), stock.NewSKU{SKU: fmt.Sprint("sku-", n), Segments: stock.MaxSegments}, time.Now()); err != nil {
			t.Fatal(err)
		}
		log, err := os.Stat(file + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		size = log.Size()
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	full := unix.Rlimit{Cur: most, Max: limit.Max}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &full); err != nil {
		t.Fatal(err)
	}
	readable, ready := store.Ping(t.Context()), store.Ready(t.Context())
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if readable != nil || !errors.Is(ready, stock.ErrNotWritable) {
		t.Errorf("reads: got %v, want nil; ready: got %v, want %v", readable, ready, stock.ErrNotWritable)
	}
	if err := errors.Join(store.Ready(t.Context()), store.Close()); err != nil {
		t.Errorf("with room again: got %v, want nil", err)
	}
}
