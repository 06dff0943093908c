package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// lockTimeout is how long a migration of PostgreSQL waits for another process' migration, and for a table: writers of that
// table wait behind it meanwhile. The URL's lock_timeout may set another.
const lockTimeout = "15s"

// The number means nothing, but must be the same in all processes. golang-migrate takes a lock of its own in each call; to
// repeat a step that another process has begun takes several calls.
const (
	lockMigrations   = `SELECT pg_advisory_lock(7325064181)`
	unlockMigrations = `SELECT pg_advisory_unlock(7325064181)`
)

// aloneOn runs work on PostgreSQL while no other process does. The lock belongs to a session: it ends with the process.
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
