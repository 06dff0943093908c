package migrations_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"

	"inventory/migrations"
)

// TestADatabaseFromBefore: one at the last step of the time before 0.1.0 is taken as it is, and an earlier one is told what to do and stays
// as it is.
func TestADatabaseFromBefore(t *testing.T) {
	t.Parallel()
	url, file := database(t), filepath.Join(t.TempDir(), "inventory.db")
	for driver, c := range map[string]struct {
		name string
		open func() (*migrations.Migrator, error)
	}{
		"pgx":    {url, func() (*migrations.Migrator, error) { return migrations.OpenPostgres(url) }},
		"sqlite": {file, func() (*migrations.Migrator, error) { return migrations.OpenSQLite(file) }},
	} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			migrator := func() *migrations.Migrator {
				m, err := c.open()
				if err != nil {
					t.Fatal(err)
				}
				return m
			}
			m := migrator()
			if err := m.Up(t.Context()); err != nil {
				t.Fatal(err)
			}
			undo(t, m, "ledger_total")
			db, err := sql.Open(driver, c.name)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			}()
			m = migrator()
			for _, at := range []struct {
				mark  string
				early bool
			}{
				{"UPDATE schema_migrations SET version = 45", true},
				{"UPDATE schema_migrations SET version = 46, dirty = true", true},
				{"UPDATE schema_migrations SET dirty = false", false},
			} {
				if _, err := db.ExecContext(t.Context(), at.mark); err != nil {
					t.Fatal(err)
				}
				_, reading := m.Status(t.Context())
				for what, err := range map[string]error{"status": reading, "up": m.Up(t.Context())} {
					if errors.Is(err, migrations.ErrEarly) != at.early || !at.early && err != nil {
						t.Errorf("%s, then %s: %v", at.mark, what, err)
					}
				}
			}
			status, err := m.Status(t.Context())
			if err != nil || status.Pending() != 0 {
				t.Errorf("%d steps are missing, %v", status.Pending(), err)
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
