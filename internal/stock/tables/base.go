package tables

import (
	"context"
	"database/sql/driver"
	"time"
)

// Base is the part of a store that is the same in all databases that know SQL. A store has one in it.
type Base struct {
	DB Querier
	// InTx runs work in a transaction, again after [ErrRaced]. An error of work rolls back. It commits before the deadline, or that
	// of the context where that is earlier or the deadline is zero; else it is [stock.ErrLate].
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

// At is the instant of a decision as an argument. If it is zero, that is the store's clock: the statement asks for that of the
// server where the argument is null.
type At time.Time

// Value implements [driver.Valuer].
func (a At) Value() (driver.Value, error) { return Instant(a).Value() }
