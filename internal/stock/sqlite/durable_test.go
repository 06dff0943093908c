package sqlite

import (
	"errors"
	"path/filepath"
	"testing"

	"inventory/migrations"
)

// TestWritesAreDurable reads the settings that a power cut would test: a killed process cannot.
func TestWritesAreDurable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "inventory.db")
	m, err := migrations.OpenSQLite(file)
	if err == nil {
		err = errors.Join(m.Up(), m.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	store, err := Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	for pragma, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "foreign_keys": "1"} {
		var got string
		if err := store.writer.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, want %s: %v", pragma, got, want, err)
		}
	}
}
