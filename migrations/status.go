package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
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

// dialect is the language of a database.
type dialect struct {
	folder    string
	isThere   string             // reads whether there is a table of migrations
	hasSKUs   string             // reads whether there is the table of the first step
	table     string             // makes the table of migrations
	isolation sql.IsolationLevel // of a step: it has to see what was done while it waited for the lock
	lock      string             // of a step, which waits no longer than its argument; "": none
}

// forPostgres returns the dialect of PostgreSQL. The number of its lock means nothing, but must be the same in all processes. The
// lock belongs to the transaction: behind a pooler a session may be another process' a moment later. Earlier releases take it for
// a session, which excludes a transaction as well. To open pg_class makes a transaction that has waited see the tables that were
// made meanwhile: the name alone is looked up in what its session remembers.
func forPostgres() dialect {
	return dialect{
		folder:    "postgres",
		isThere:   `SELECT count(*) > 0 FROM pg_class WHERE oid = to_regclass('schema_migrations')`,
		hasSKUs:   `SELECT to_regclass('skus') IS NOT NULL`,
		table:     `CREATE TABLE IF NOT EXISTS schema_migrations (version bigint NOT NULL PRIMARY KEY, dirty boolean NOT NULL)`,
		isolation: sql.LevelReadCommitted,
		lock: `WITH bounded AS MATERIALIZED (SELECT set_config('lock_timeout', $1, true))
SELECT pg_advisory_xact_lock(7325064181) FROM bounded`,
	}
}

// forSQLite returns the dialect of SQLite.
func forSQLite() dialect {
	return dialect{
		folder:  "sqlite",
		isThere: `SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'schema_migrations'`,
		hasSKUs: `SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'skus'`,
		table: `CREATE TABLE IF NOT EXISTS schema_migrations (version uint64, dirty bool);
CREATE UNIQUE INDEX IF NOT EXISTS version_unique ON schema_migrations (version)`,
	}
}

// lastStep reads the version; 0 for the value for none, which earlier releases write while they undo the first step.
const lastStep = `SELECT CASE WHEN version > 0 THEN version ELSE 0 END, dirty FROM schema_migrations`

// reader is a database, or a transaction of it.
type reader interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// status reads the status of the database, or in a transaction of it.
func (m *Migrator) status(ctx context.Context, db reader) (Status, error) {
	status, there := Status{Steps: slices.Clone(m.list)}, false
	if err := db.QueryRowContext(ctx, m.dialect.isThere).Scan(&there); err != nil {
		return status, fmt.Errorf("migration status: %w", err)
	}
	if !there {
		return status, nil
	}
	err := db.QueryRowContext(ctx, lastStep).Scan(&status.Version, &status.Dirty)
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
