package stocktest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"inventory/migrations"
)

// migrated is what a new SQLite file with the schema consists of. It is made once: that costs more than many a test.
var migrated = sync.OnceValues(func() (file []byte, err error) {
	folder, err := os.MkdirTemp("", "inventory-schema-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	name := filepath.Join(folder, "inventory.db")
	m, err := migrations.OpenSQLite(name)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(m.Up(context.Background()), m.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(name)
})

// SQLiteFile returns the name of a new SQLite file that has the schema, and goes with the test.
func SQLiteFile(t testing.TB) string {
	t.Helper()
	file, err := migrated()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "inventory.db")
	if err := os.WriteFile(name, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
