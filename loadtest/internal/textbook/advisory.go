package textbook

import (
	"context"
	"fmt"
	"hash/fnv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// PostgreSQL's own lock: over a connection that the holder keeps, and behind a pool that lends one for each statement.
const (
	AdvisoryName = "PostgreSQL advisory"
	PooledName   = "PostgreSQL advisory, pooled"
)

// What advisory locks are asked. In: $1 the key. Out: nothing; whether the lock was free; whether it was this session's.
const (
	lockKey    = "SELECT pg_advisory_lock($1)"
	tryLockKey = "SELECT pg_try_advisory_lock($1)"
	unlockKey  = "SELECT pg_advisory_unlock($1)"
)

// Advisory is PostgreSQL's advisory lock of a session. A holder, and a waiter too, has a connection for itself.
//
// Its flaw: it belongs to the connection. A proxy, a failover or pg_terminate_backend ends that, and with it the lock; a
// holder that is busy elsewhere hears of it when it asks the next time, and until then the next one is inside as well.
// There is no fencing token. A holder that stands still with its connection open keeps everybody waiting, without end.
type Advisory struct {
	DB   *pgxpool.Pool
	Name string
}

// Lock implements [Lock].
func (l Advisory) Lock(ctx context.Context) (Hold, error) {
	return l.take(ctx, func(db *pgxpool.Conn) (bool, error) {
		_, err := db.Exec(ctx, lockKey, keyOf(l.Name))
		return err == nil, err
	})
}

// TryLock implements [Lock].
func (l Advisory) TryLock(ctx context.Context) (Hold, error) {
	return l.take(ctx, func(db *pgxpool.Conn) (bool, error) { return ask(ctx, db, tryLockKey, l.Name) })
}

// take has a connection for the lock, and keeps it while the lock is held.
func (l Advisory) take(ctx context.Context, lock func(*pgxpool.Conn) (bool, error)) (Hold, error) {
	db, err := l.DB.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("get a connection for the lock %s: %w", l.Name, err)
	}
	hold, err := recipe{
		take: func(context.Context, string) (bool, error) { return lock(db) },
		give: func(ctx context.Context, _ string) (bool, error) {
			defer db.Release()
			return ask(ctx, db, unlockKey, l.Name)
		},
	}.try(l.Name)(ctx)
	if err != nil {
		db.Release()
	}
	return hold, err
}

// Pool lends a connection for each statement, as pgbouncer does in its mode for transactions, or pgxpool.Pool.
type Pool interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Pooled is [Advisory] without a connection of its own. Waiters poll: one that waited inside would keep the pool's connection.
//
// Its flaws: the lock belongs to whichever connection the pool lent for it. The next caller who is lent that one gets the
// lock as well, for a session may take its locks again. And an unlock over another connection answers false, and leaves
// the lock with a connection that the pool keeps open.
func Pooled(db Pool, name string, t Timing) Lock {
	return recipe{
		take: func(ctx context.Context, _ string) (bool, error) { return ask(ctx, db, tryLockKey, name) },
		give: func(ctx context.Context, _ string) (bool, error) { return ask(ctx, db, unlockKey, name) },
	}.polled(name, t.Poll)
}

// ask asks a question about an advisory lock whose answer is yes or no.
func ask(ctx context.Context, db Pool, question, name string) (yes bool, err error) {
	err = db.QueryRow(ctx, question, keyOf(name)).Scan(&yes)
	return yes, err
}

// keyOf is the number that PostgreSQL knows a lock by.
func keyOf(name string) int64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name)) // a hash never refuses
	return int64(hash.Sum64())
}
