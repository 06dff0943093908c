package migrations_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"

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
	steps, err := m.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return steps
}

// down undoes the last steps.
func down(t *testing.T, file string, steps int) {
	t.Helper()
	m, err := migrations.OpenSQLite(file)
	if err != nil {
		t.Fatal(err)
	}
	for range steps {
		if err := m.Down(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

// above is how many steps come after a version; numbers have gaps.
func above(steps []migrations.Step, version int) (n int) {
	for _, step := range steps {
		if int(step.Version) > version { //nolint:gosec // versions are small
			n++
		}
	}
	return n
}

// TestUpFinishesWhatAKilledProcessBegan marks each version as begun and not finished, on the way up and on the way
// down to nothing.
func TestUpFinishesWhatAKilledProcessBegan(t *testing.T) {
	t.Parallel()
	for _, version := range []int{-1, 1, 3, 5, 6, 7, 8, 10, 11, 14, 15, 17, 18, 19, 20, 21, 22, 30, 31, 32, 33} {
		file := filepath.Join(t.TempDir(), "inventory.db")
		db, err := sql.Open("sqlite", file)
		if err != nil {
			t.Fatal(err)
		}
		if version > 1 {
			down(t, file, above(up(t, file), version))
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
