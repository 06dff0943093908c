package migrations_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"inventory/internal/stock/sqlite"
	"inventory/migrations"
)

// TestOutboxGoesWithItsTriggers: a deduction must not be written to a table that is gone.
func TestOutboxGoesWithItsTriggers(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "inventory.db")
	up(t, file)
	store, err := sqlite.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Outbox().On(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	downTo(t, file, "outbox")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	const insert = `INSERT INTO deductions (sku_id, order_id, quantity, segment, status, created_at) VALUES ('a', 'o', 1, 0, 'committed', 0)`
	if _, err := db.ExecContext(t.Context(), insert); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// downTo undoes the steps down to the named one, including it.
func downTo(t *testing.T, file, name string) {
	t.Helper()
	m, err := migrations.OpenSQLite(file)
	if err != nil {
		t.Fatal(err)
	}
	undo(t, m, name)
}

// undo undoes the steps down to the named one, including it, and closes the migrator.
func undo(t *testing.T, m *migrations.Migrator, name string) {
	t.Helper()
	for applied := true; applied; {
		if err := m.Down(t.Context()); err != nil {
			t.Fatal(err)
		}
		status, err := m.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range status.Steps {
			if step.Name == name {
				applied = step.Applied
			}
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}
