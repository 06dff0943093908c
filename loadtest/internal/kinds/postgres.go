package kinds

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/loadtest/internal/servers"
)

// The locks that are rows in PostgreSQL.
const (
	Row       = "unique row"
	RowExpiry = "unique row with expiry"
)

var (
	//go:embed create_rows.sql
	createRows string
	//go:embed take_row.sql
	takeRow string
	//go:embed take_expired_row.sql
	takeExpiredRow string
	//go:embed give_row.sql
	giveRow string
)

// Prepare makes the table of the locks that are rows.
func Prepare(ctx context.Context, s servers.URLs) error {
	if err := servers.Execute(ctx, s.DatabaseURL, createRows); err != nil {
		return fmt.Errorf("make the table of locks: %w", err)
	}
	return nil
}

// onPostgres opens locks in PostgreSQL.
func onPostgres(lock func(db *pgxpool.Pool, name string, s Setting) Lock) func(context.Context, Setting) (*Client, error) {
	return func(ctx context.Context, s Setting) (*Client, error) {
		db, err := OpenPostgres(ctx, s)
		if err != nil {
			return nil, err
		}
		return &Client{Lock: func(name string) Lock { return lock(db, name, s) }, Close: func() error { db.Close(); return nil }}, nil
	}
}

// row is a row with a unique name: INSERT takes the lock, DELETE gives it back.
//
// Its flaw: the row of a holder that has died, or whose DELETE got lost, stays until it is deleted by hand. Waiters can only poll,
// and each cycle costs two commits.
func row(db *pgxpool.Pool, name string, s Setting) Lock { return takenBy(db, name, s, takeRow) }

// rowExpiry is a [row] with an end, by the database's clock. A later caller takes it over.
//
// Its flaw: a holder that was stopped for longer than its lease goes on as if it had the lock, as the next one does, and without
// a fencing token its writes are accepted.
func rowExpiry(db *pgxpool.Pool, name string, s Setting) Lock {
	return takenBy(db, name, s, takeExpiredRow, s.Lease.Milliseconds())
}

// takenBy is a lock that a statement takes. In: the name, the owner, and what else it needs.
func takenBy(db *pgxpool.Pool, name string, s Setting, take string, more ...any) Lock {
	do := func(sql string, more ...any) func(ctx context.Context, owner string) (bool, error) {
		return func(ctx context.Context, owner string) (bool, error) {
			done, err := db.Exec(ctx, sql, append([]any{name, owner}, more...)...)
			return done.RowsAffected() > 0, err
		}
	}
	return recipe{do(take, more...), do(giveRow)}.polled(name, s.Poll)
}
