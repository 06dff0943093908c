package migrations_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"inventory/migrations"
)

// A database that another program has made is refused, and stays as it is.
func TestADatabaseOfAnotherProgram(t *testing.T) {
	t.Parallel()
	for name, made := range map[string][]string{
		"a table skus":    {`CREATE TABLE skus (id integer)`},
		"steps of others": {`CREATE TABLE schema_migrations (version bigint, dirty boolean)`, `INSERT INTO schema_migrations VALUES (3, false)`},
	} {
		t.Run("sqlite, "+name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "other.db")
			db, err := sql.Open("sqlite", file)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			refused(t, db, made, func() (*migrations.Migrator, error) { return migrations.OpenSQLite(file) },
				`SELECT group_concat(sql, ';') FROM sqlite_schema`)
		})
		t.Run("postgres, "+name, func(t *testing.T) {
			t.Parallel()
			url := database(t)
			db, err := sql.Open("pgx", url)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			refused(t, db, made, func() (*migrations.Migrator, error) { return migrations.OpenPostgres(url) },
				`SELECT string_agg(table_name, ';' ORDER BY table_name) FROM information_schema.tables WHERE table_schema = 'public'`)
		})
	}
}

// refused opens a database with some tables, of which all are listed before and after.
func refused(t *testing.T, db *sql.DB, made []string, open func() (*migrations.Migrator, error), list string) {
	t.Helper()
	for _, statement := range made {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	tables := func() (all string) {
		if err := db.QueryRowContext(t.Context(), list).Scan(&all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := tables()
	m, err := open()
	if err == nil {
		err = errors.Join(m.Up(t.Context()), m.Close())
	}
	if !errors.Is(err, migrations.ErrForeign) {
		t.Errorf("it was opened: %v, want %v", err, migrations.ErrForeign)
	}
	if after := tables(); after != before {
		t.Errorf("its tables are %s, want %s, as before", after, before)
	}
}
