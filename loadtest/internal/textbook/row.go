package textbook

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// The lock of whoever has a database at hand.
const (
	RowName = "unique row"
	RowFlaw = "the row of a holder that has died stays for ever"
)

var (
	//go:embed create_rows.sql
	createRows string
	//go:embed take_row.sql
	takeRow string
	//go:embed give_row.sql
	giveRow string
)

// CreateRows makes the table of the locks that are rows.
func CreateRows(ctx context.Context, db *pgxpool.Pool) error {
	if _, err := db.Exec(ctx, createRows); err != nil {
		return fmt.Errorf("make the table of locks: %w", err)
	}
	return nil
}

// Row is a row with a unique name: INSERT takes the lock, DELETE gives it back.
//
// Its flaw: nobody deletes the row of a holder that has died, or whose DELETE got lost. Until somebody looks by hand, the
// lock is held. Waiters can only poll, and each cycle costs two commits.
type Row struct {
	DB   *pgxpool.Pool
	Name string
	Poll time.Duration // how often a waiter tries
}

// Lock implements [Lock].
func (l Row) Lock(ctx context.Context) (Hold, error) { return again(ctx, l.Poll, l.TryLock) }

// TryLock implements [Lock].
func (l Row) TryLock(ctx context.Context) (Hold, error) {
	owner := newValue()
	done, err := l.DB.Exec(ctx, takeRow, l.Name, owner)
	if err != nil {
		return nil, fmt.Errorf("insert the row of the lock %s: %w", l.Name, err)
	}
	if done.RowsAffected() == 0 {
		return nil, ErrBusy
	}
	return rowHold{l.DB, l.Name, owner}, nil
}

type rowHold struct {
	db          *pgxpool.Pool
	name, owner string
}

// Unlock implements [Hold].
func (h rowHold) Unlock(ctx context.Context) error {
	done, err := h.db.Exec(ctx, giveRow, h.name, h.owner)
	if err != nil {
		return fmt.Errorf("delete the row of the lock %s: %w", h.name, err)
	}
	if done.RowsAffected() == 0 {
		return ErrNotHeld
	}
	return nil
}
