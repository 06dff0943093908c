package tables

import (
	"context"
	"time"
)

// Trip are statements that go to the database together: in one message, where it takes messages.
type Trip struct{ Steps []*Step }

// Step is a statement of a trip.
type Step struct {
	SQL   string
	Args  []any
	Into  []any                       // where its row is scanned, of which there has to be one; nil: it has other rows, or none
	Each  func(Row) error             // reads each row; nil: there are none
	Wrote func(rows int64) error      // is told how many rows were written; nil: it may be any number
	Do    func(context.Context) error // in place of a statement; nil: there is one
}

// Exec adds a statement that writes.
func (t *Trip) Exec(sql string, args ...any) *Step {
	step := &Step{SQL: sql, Args: args}
	t.Steps = append(t.Steps, step)
	return step
}

// Each adds a query.
func (t *Trip) Each(read func(Row) error, sql string, args ...any) { t.Exec(sql, args...).Each = read }

// Single adds a query that always has one row.
func (t *Trip) Single(into []any, sql string, args ...any) { t.Exec(sql, args...).Into = into }

// wrote notes whether a row was written.
func wrote(any *bool) func(int64) error {
	return func(rows int64) error {
		*any = rows > 0
		return nil
	}
}

// Tx is a transaction of a store.
type Tx interface {
	Querier
	// Send carries a trip out, which may be empty.
	Send(ctx context.Context, trip *Trip) error
	// Expire gives back the units of reservations that have expired, [stock.ExpireLimit] at most. The rows of all segments are
	// locked.
	Expire(trip *Trip, sku string, at time.Time) *Returned
	// Instant takes the instant of a decision behind all that waits: the given one, or else that of the store's clock.
	Instant(trip *Trip, given time.Time, at *time.Time)
	// Notify tells other processes that units of a SKU are back or were added.
	Notify(trip *Trip, sku string)
}

// Returned is what came back from expired reservations.
type Returned struct {
	Reservations int
	Segments     map[int]int64 // units, where there are any
}
