package tables

import (
	"context"
	"database/sql/driver"
	"time"
)

// Base is the part of a store that is the same in all SQL databases. A store embeds one.
type Base struct {
	DB Querier
	// InTx runs work in a transaction, again after [ErrRaced]. An error of work rolls back. It commits before the deadline or the
	// context's, whichever is earlier, otherwise it returns [stock.ErrLate]. A zero deadline is none.
	InTx func(ctx context.Context, deadline time.Time, work func(Tx) error) error
}

// Instant is a time as an argument; null if it is zero.
type Instant time.Time

// Value implements [driver.Valuer].
func (i Instant) Value() (driver.Value, error) {
	if t := time.Time(i); !t.IsZero() {
		return t, nil
	}
	return nil, nil //nolint:nilnil // null
}

// At is the instant of a decision as an argument; null if it is zero. For null the statement takes the time of the store's
// clock.
type At time.Time

// Value implements [driver.Valuer].
func (a At) Value() (driver.Value, error) { return Instant(a).Value() }
