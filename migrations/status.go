package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
)

// Status is which of this program's steps the schema of a database has.
type Status struct {
	Steps   []Step // ascending
	Version uint   // of the last step that the database has, perhaps applied by a newer program; 0: none
	Dirty   bool   // that step was begun, and not finished
}

// Pending returns how many steps the database lacks.
func (s Status) Pending() (n int) {
	for _, step := range s.Steps {
		if !step.Applied {
			n++
		}
	}
	return n
}

// Newer reports whether a newer program has made the schema.
func (s Status) Newer() bool { return s.Version > s.Steps[len(s.Steps)-1].Version }

// Dialect is the language of a database.
type Dialect struct {
	folder  string
	isThere string // reads whether there is a table of migrations
	hasSKUs string // reads whether there is the table of the first step
}

// Postgres returns the dialect of PostgreSQL.
func Postgres() Dialect {
	return Dialect{
		"postgres",
		`SELECT to_regclass('schema_migrations') IS NOT NULL`,
		`SELECT to_regclass('skus') IS NOT NULL`,
	}
}

// SQLite returns the dialect of SQLite.
func SQLite() Dialect {
	return Dialect{
		"sqlite",
		`SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'schema_migrations'`,
		`SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'skus'`,
	}
}

// lastStep reads the version; 0 for golang-migrate's value for none, which is there while the first step is undone.
const lastStep = `SELECT CASE WHEN version > 0 THEN version ELSE 0 END, dirty FROM schema_migrations`

// None returns the status of a database without a schema.
func (d Dialect) None() (Status, error) {
	files, err := fs.Sub(steps, d.folder)
	if err != nil {
		return Status{}, fmt.Errorf("read migrations: %w", err)
	}
	return Status{Steps: (&Migrator{steps: files}).list()}, nil
}

// ReadStatus reads the status of a database. It writes nothing and takes no locks, so it works while a service runs, and needs
// only the right to read schema_migrations.
func ReadStatus(ctx context.Context, db *sql.DB, d Dialect) (Status, error) {
	status, err := d.None()
	if err != nil {
		return status, err
	}
	var there bool
	if err := db.QueryRowContext(ctx, d.isThere).Scan(&there); err != nil {
		return status, fmt.Errorf("migration status: %w", err)
	}
	if !there {
		return status, nil
	}
	err = db.QueryRowContext(ctx, lastStep).Scan(&status.Version, &status.Dirty)
	if errors.Is(err, sql.ErrNoRows) {
		return status, nil
	}
	if err != nil {
		return status, fmt.Errorf("migration status: %w", err)
	}
	for i := range status.Steps {
		step := &status.Steps[i]
		step.Applied = step.Version < status.Version || step.Version == status.Version && !status.Dirty
	}
	return status, nil
}
