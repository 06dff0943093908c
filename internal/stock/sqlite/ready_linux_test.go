package sqlite_test

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"inventory/internal/stock"
	"inventory/internal/stock/sqlite"
)

// TestAFullDiskIsNotReady: files may not grow, and then may again. The limit is for the whole process, so it is not
// parallel.
func TestAFullDiskIsNotReady(t *testing.T) {
	store, err := sqlite.Open(t.Context(), used(t))
	if err != nil {
		t.Fatal(err)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	full := unix.Rlimit{Cur: 64, Max: limit.Max}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &full); err != nil {
		t.Fatal(err)
	}
	readable, ready := store.Ping(t.Context()), store.Ready(t.Context())
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if readable != nil || !errors.Is(ready, stock.ErrNotWritable) {
		t.Errorf("reads: %v, ready: %v", readable, ready)
	}
	if err := errors.Join(store.Ready(t.Context()), store.Close()); err != nil {
		t.Errorf("with room again: %v", err)
	}
}
