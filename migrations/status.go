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

// Last returns the last step that the database has; nil: none.
func (s Status) Last() (last *Step) {
	for i, step := range s.Steps {
		if step.Applied {
			last = &s.Steps[i]
		}
	}
	return last
}

// dialect is the language of a database.
type dialect struct {
	folder    string
	isThere   string             // reads whether there is a table of migrations
	hasSKUs   string             // reads whether there is the table of SKUs
	table     string             // makes the table of migrations
	isolation sql.IsolationLevel // of a step: it has to see what others have done
	online    bool               // processes sell meanwhile: the rule is enforced, and the following are not empty
	lock      string             // takes the lock of all steps, and bounds the wait for tables by its argument
	users     string             // reads who uses a table
	hasIndex  string             // reads whether an index is there, and whether it is valid
}

// forPostgres returns the dialect of PostgreSQL. The number of its lock means nothing, but must be the same in all processes. The
// lock belongs to the transaction: behind a pooler a session may be another process' a moment later. To open pg_class makes a
// transaction see the tables that were made since its session began: the name alone is looked up in what the session remembers.
func forPostgres() dialect {
	return dialect{
		folder:    "postgres",
		isThere:   `SELECT count(*) > 0 FROM pg_class WHERE oid = to_regclass('schema_migrations')`,
		hasSKUs:   `SELECT to_regclass('skus') IS NOT NULL`,
		table:     `CREATE TABLE IF NOT EXISTS schema_migrations (version bigint NOT NULL PRIMARY KEY, dirty boolean NOT NULL)`,
		isolation: sql.LevelReadCommitted,
		online:    true,
		lock:      `SELECT pg_try_advisory_xact_lock(7325064181), set_config('lock_timeout', $1, true)`,
		users: `SELECT coalesce(nullif(a.application_name, ''), 'a client') || ' (process ' || a.pid || ', for '
	|| extract(epoch FROM clock_timestamp() - a.xact_start)::bigint || ' s)'
FROM pg_locks l JOIN pg_stat_activity a USING (pid) JOIN pg_class c ON c.oid = l.relation
WHERE l.granted AND l.pid <> pg_backend_pid() AND a.datname = current_database() AND c.relnamespace = current_schema()::regnamespace
ORDER BY a.xact_start LIMIT 1`,
		hasIndex: `SELECT count(*) > 0, coalesce(bool_and(indisvalid), false) FROM pg_index WHERE indexrelid = to_regclass($1)`,
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

// lastStep reads the version; 0 for the value for none, which early programs write while they undo the first step.
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
	var begun bool // an early program has begun the step, and not finished it
	err := db.QueryRowContext(ctx, lastStep).Scan(&status.Version, &begun)
	if errors.Is(err, sql.ErrNoRows) {
		return status, nil
	}
	if err != nil {
		return status, fmt.Errorf("migration status: %w", err)
	}
	if base := m.list[0].Version; status.Version < base || status.Version == base && begun {
		status.Version, err = 0, fmt.Errorf("%w: at step %d, not %d", ErrEarly, status.Version, base)
		return status, err
	}
	for i := range status.Steps {
		status.Steps[i].Applied = status.Steps[i].Version <= status.Version
	}
	return status, nil
}
