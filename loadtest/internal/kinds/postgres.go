package kinds

import (
	"context"
	_ "embed"
	"fmt"
	"hash/fnv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/loadtest/internal/servers"
)

// The locks in PostgreSQL: rows, and its own lock, over a connection that the holder keeps, and behind a pool that lends one for
// each statement.
const (
	Row       = "unique row"
	RowExpiry = "unique row with expiry"
	Advisory  = "PostgreSQL advisory"
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
func onPostgres(lock func(db *pgxpool.Pool, name string, t Timing) Lock) func(context.Context, Setting) (*Client, error) {
	return func(ctx context.Context, s Setting) (*Client, error) {
		db, err := OpenPostgres(ctx, s)
		if err != nil {
			return nil, err
		}
		return &Client{Lock: func(name string) Lock { return lock(db, name, s.Timing) }, Close: func() error { db.Close(); return nil }}, nil
	}
}

// row is a row with a unique name: INSERT takes the lock, DELETE gives it back.
//
// Its flaw: the row of a holder that has died, or whose DELETE got lost, stays until it is deleted by hand. Waiters can only poll,
// and each cycle costs two commits.
func row(db *pgxpool.Pool, name string, t Timing) Lock { return takenBy(db, name, t, takeRow) }

// rowExpiry is a [row] with an end, by the database's clock. A later caller takes it over.
//
// Its flaw: a holder that was stopped for longer than its lease goes on as if it had the lock, as the next one does, and without
// a fencing token its writes are accepted.
func rowExpiry(db *pgxpool.Pool, name string, t Timing) Lock {
	return takenBy(db, name, t, takeExpiredRow, t.Lease.Milliseconds())
}

// takenBy is a lock that a statement takes. In: the name, the owner, and what else it needs.
func takenBy(db *pgxpool.Pool, name string, t Timing, take string, more ...any) Lock {
	do := func(sql string, more ...any) func(ctx context.Context, owner string) (bool, error) {
		return func(ctx context.Context, owner string) (bool, error) {
			done, err := db.Exec(ctx, sql, append([]any{name, owner}, more...)...)
			return done.RowsAffected() > 0, err
		}
	}
	return recipe{do(take, more...), do(giveRow)}.polled(name, t.Poll)
}

// What advisory locks are asked. In: $1 the key. Out: nothing; whether the lock was free; whether it was this session's.
const (
	lockKey    = "SELECT pg_advisory_lock($1)"
	tryLockKey = "SELECT pg_try_advisory_lock($1)"
	unlockKey  = "SELECT pg_advisory_unlock($1)"
)

// advisory is PostgreSQL's advisory lock of a session. A holder, and a waiter too, has a connection for itself.
//
// Its flaw: it belongs to the connection. A proxy, a failover or pg_terminate_backend ends that, and with it the lock; a
// busy holder finds that out when it asks the next time, and until then the next one is inside as well. There is no fencing
// token. A holder that stands still with its connection open keeps all others waiting, without end.
func advisory(pool *pgxpool.Pool, name string, _ Timing) Lock {
	return func(ctx context.Context, wait bool) (Hold, error) {
		db, err := pool.Acquire(ctx)
		if err != nil {
			return nil, fmt.Errorf("get a connection for the lock %s: %w", name, err)
		}
		hold, err := recipe{
			take: func(context.Context, string) (bool, error) {
				if !wait {
					return ask(ctx, db, tryLockKey, name)
				}
				_, err := db.Exec(ctx, lockKey, keyOf(name))
				return true, err
			},
			give: func(ctx context.Context, _ string) (bool, error) {
				defer db.Release()
				return ask(ctx, db, unlockKey, name)
			},
		}.try(ctx, name)
		if err != nil {
			db.Release()
		}
		return hold, err
	}
}

// ask runs a query about an advisory lock whose answer is yes or no.
func ask(ctx context.Context, db interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, question, name string,
) (yes bool, err error) {
	err = db.QueryRow(ctx, question, keyOf(name)).Scan(&yes)
	return yes, err
}

// keyOf is the number that PostgreSQL knows a lock by.
func keyOf(name string) int64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name)) // a hash never refuses
	return int64(hash.Sum64())
}
