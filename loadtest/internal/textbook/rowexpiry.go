package textbook

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// The lock of whoever had to delete rows by hand once.
const (
	RowExpiryName = "unique row with expiry"
	RowExpiryFlaw = "a holder that outlives the expiry is not told and goes on, as with SET NX PX"
)

//go:embed take_expired_row.sql
var takeExpiredRow string

// RowExpiry is a [Row] that says until when it counts, by the database's clock. Whoever comes later takes it over.
//
// Its flaw: the clock judges whether the holder lives. One that was stopped for longer than its lease goes on as if it
// had the lock, beside the next one, and without a fencing token nobody stops its writes.
type RowExpiry struct {
	DB    *pgxpool.Pool
	Name  string
	Lease time.Duration
	Poll  time.Duration // how often a waiter tries
}

// Lock implements [Lock].
func (l RowExpiry) Lock(ctx context.Context) (Hold, error) { return again(ctx, l.Poll, l.TryLock) }

// TryLock implements [Lock].
func (l RowExpiry) TryLock(ctx context.Context) (Hold, error) {
	owner := newValue()
	done, err := l.DB.Exec(ctx, takeExpiredRow, l.Name, owner, l.Lease.Milliseconds())
	if err != nil {
		return nil, fmt.Errorf("write the row of the lock %s: %w", l.Name, err)
	}
	if done.RowsAffected() == 0 {
		return nil, ErrBusy
	}
	return rowHold{l.DB, l.Name, owner}, nil
}
