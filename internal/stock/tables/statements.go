package tables

import (
	"context"
	"time"
)

// Statements are statements that go to the database together: in one message, if it takes messages.
type Statements struct{ List []*Statement }

// Statement is one of them.
type Statement struct {
	SQL   string
	Args  []any
	Into  []any                       // where its only row is scanned, which has to exist; nil: it has any number of rows
	Each  func(Row) error             // reads each row; nil: there are none
	Wrote func(rows int64) error      // gets the number of rows that were written; nil: any number is right
	Do    func(context.Context) error // in place of a statement; nil: there is one
}

// Exec adds a statement that writes.
func (s *Statements) Exec(sql string, args ...any) *Statement {
	one := &Statement{SQL: sql, Args: args}
	s.List = append(s.List, one)
	return one
}

// Each adds a query.
func (s *Statements) Each(read func(Row) error, sql string, args ...any) {
	s.Exec(sql, args...).Each = read
}

// Single adds a query that always has one row.
func (s *Statements) Single(into []any, sql string, args ...any) { s.Exec(sql, args...).Into = into }

// wrote records whether a row was written.
func wrote(any *bool) func(int64) error {
	return func(rows int64) error {
		*any = rows > 0
		return nil
	}
}

// Tx is a transaction of a store.
type Tx interface {
	Querier
	// Send carries out statements; there may be none.
	Send(ctx context.Context, statements *Statements) error
	// Expire gives back the units of reservations that have expired, [stock.ExpireLimit] at most. The rows of all segments are
	// locked.
	Expire(statements *Statements, sku string, at time.Time) *Returned
	// Instant sets at to the instant of a decision, after all statements that wait: given, or if it is zero the time of the
	// store's clock.
	Instant(statements *Statements, given time.Time, at *time.Time)
	// Notify tells other processes that units of a SKU are back or were added.
	Notify(statements *Statements, sku string)
}

// Returned is what came back from expired reservations.
type Returned struct {
	Reservations int
	Segments     map[int]int64 // units, of the segments that got any
}
