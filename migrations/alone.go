package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// lockTimeout is how long a migration of PostgreSQL waits for another process's, and for a table: who wants to write to
// that table then waits behind it. The URL's lock_timeout may say otherwise.
const lockTimeout = "15s"

// The number means nothing; all processes must have the same. golang-migrate has a lock of its own around each of its
// calls, but to run a step again that somebody began takes several.
const (
	lockMigrations   = `SELECT pg_advisory_lock(7325064181)`
	unlockMigrations = `SELECT pg_advisory_unlock(7325064181)`
)

// aloneOn runs work while no other process does, on PostgreSQL. The lock is a session's: it ends with the process.
func aloneOn(db *sql.DB, work func() error) (err error) {
	ctx := context.Background() // bounded by the lock time-out
	session, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer session.Close()
	if _, err := session.ExecContext(ctx, lockMigrations); err != nil {
		return fmt.Errorf("wait for other migrations: %w", err)
	}
	defer func() {
		if _, unlockErr := session.ExecContext(ctx, unlockMigrations); unlockErr != nil {
			err = errors.Join(err, fmt.Errorf("let other migrations go on: %w", unlockErr))
		}
	}()
	return work()
}
