package textbook

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// PostgreSQL's own lock, behind a pool that lends a connection for each statement.
const (
	PooledName = "PostgreSQL advisory, pooled"
	PooledFlaw = "who shares a connection shares its locks; and what was locked over one is not given back over another"
)

// Pool lends a connection for each statement, as pgbouncer does in its mode for transactions, or pgxpool.Pool.
type Pool interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Pooled is [Advisory] without a connection of its own.
//
// Its flaws: the lock belongs to whichever connection the pool lent for it. The next caller who is lent that one gets the
// lock as well, for a session may take its locks again. And an unlock over another connection answers false, and leaves
// the lock with a connection that the pool keeps open.
type Pooled struct {
	DB   Pool
	Name string
	Poll time.Duration // how often a waiter tries: one that waits inside would keep the pool's connection
}

// Lock implements [Lock].
func (l Pooled) Lock(ctx context.Context) (Hold, error) { return again(ctx, l.Poll, l.TryLock) }

// TryLock implements [Lock].
func (l Pooled) TryLock(ctx context.Context) (Hold, error) {
	granted, err := ask(ctx, l.DB, tryLockKey, l.Name)
	if err != nil {
		return nil, fmt.Errorf("take the lock %s: %w", l.Name, err)
	}
	if !granted {
		return nil, ErrBusy
	}
	return pooledHold{l}, nil
}

type pooledHold struct{ lock Pooled }

// Unlock implements [Hold].
func (h pooledHold) Unlock(ctx context.Context) error { return giveBack(ctx, h.lock.DB, h.lock.Name) }
