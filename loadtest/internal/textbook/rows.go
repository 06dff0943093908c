package textbook

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

// The locks that are rows of a database.
const (
	RowName       = "unique row"
	RowExpiryName = "unique row with expiry"
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
func Row(db *pgxpool.Pool, name string, t Timing) Lock { return row(db, name, t, takeRow) }

// RowExpiry is a [Row] that says until when it counts, by the database's clock. Whoever comes later takes it over.
//
// Its flaw: the clock judges whether the holder lives. One that was stopped for longer than its lease goes on as if it
// had the lock, beside the next one, and without a fencing token nobody stops its writes.
func RowExpiry(db *pgxpool.Pool, name string, t Timing) Lock {
	return row(db, name, t, takeExpiredRow, t.Lease.Milliseconds())
}

// row is a lock that a statement takes, which is told the name, an owner, and what else it needs.
func row(db *pgxpool.Pool, name string, t Timing, take string, more ...any) Lock {
	return recipe{
		take: func(ctx context.Context, owner string) (bool, error) {
			done, err := db.Exec(ctx, take, append([]any{name, owner}, more...)...)
			return done.RowsAffected() > 0, err
		},
		give: func(ctx context.Context, owner string) (bool, error) {
			done, err := db.Exec(ctx, giveRow, name, owner)
			return done.RowsAffected() > 0, err
		},
	}.polled(name, t.Poll)
}
