package migrations_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"

	"inventory/internal/busytest"
	"inventory/migrations"
)

func up(t *testing.T, file string) []migrations.Step {
	t.Helper()
	m, err := migrations.OpenSQLite(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	status, err := m.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return status.Steps
}

// down undoes the steps above a version.
func down(t *testing.T, file string, version int) {
	t.Helper()
	m, err := migrations.OpenSQLite(file)
	if err != nil {
		t.Fatal(err)
	}
	status, err := m.Status(t.Context())
	for _, step := range status.Steps {
		if step.Applied && int(step.Version) > version { //nolint:gosec // versions are small
			err = errors.Join(err, m.Down(t.Context()))
		}
	}
	if err := errors.Join(err, m.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestUpFinishesWhatAKilledProcessBegan marks each version, and that of an empty database, as begun and not finished.
func TestUpFinishesWhatAKilledProcessBegan(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	falling := filepath.Join(t.TempDir(), "inventory.db")
	up(t, falling)
	for _, version := range []int{33, 32, 31, 30, 22, 21, 20, 19, 18, 17, 15, 14, 11, 10, 8, 7, 6, 5, 3, 1, -1} {
		file := filepath.Join(t.TempDir(), "inventory.db")
		if version > 1 {
			down(t, falling, version)
			whole, err := os.ReadFile(falling)
			if err := errors.Join(err, os.WriteFile(file, whole, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		db, err := sql.Open("sqlite", file)
		if err != nil {
			t.Fatal(err)
		}
		for _, statement := range []string{
			"CREATE TABLE IF NOT EXISTS schema_migrations (version uint64, dirty bool)",
			"CREATE UNIQUE INDEX IF NOT EXISTS version_unique ON schema_migrations (version)",
			"DELETE FROM schema_migrations",
		} {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := db.ExecContext(t.Context(), "INSERT INTO schema_migrations VALUES ($1, true)", version); err != nil {
			t.Fatal(err)
		}
		for _, step := range up(t, file) {
			if !step.Applied {
				t.Errorf("begun at %d: step %d %s is missing", version, step.Version, step.Name)
			}
		}
		for _, table := range []string{"skus", "stock_segments", "deductions", "deduction_parts", "movements", "buyers", "orders", "order_lines", "outbox", "amendments", "pruned"} {
			if _, err := db.ExecContext(t.Context(), "SELECT count(*) FROM "+table); err != nil {
				t.Errorf("begun at %d: %v", version, err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
