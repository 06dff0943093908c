package tables

import (
	"context"
	"time"
)

// Statements are statements that go to the database together: in one message, where it takes messages.
type Statements struct{ List []*Statement }

// Statement is one of them.
type Statement struct {
	SQL   string
	Args  []any
	Into  []any                       // where its row is scanned, of which there has to be one; nil: it has other rows, or none
	Each  func(Row) error             // reads each row; nil: there are none
	Wrote func(rows int64) error      // is told how many rows were written; nil: it may be any number
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
	// Send carries statements out; there may be none.
	Send(ctx context.Context, statements *Statements) error
	// Expire gives back the units of reservations that have expired, [stock.ExpireLimit] at most. The rows of all segments are
	// locked.
	Expire(statements *Statements, sku string, at time.Time) *Returned
	// Instant takes the instant of a decision behind all that waits: the given one, or else that of the store's clock.
	Instant(statements *Statements, given time.Time, at *time.Time)
	// Notify tells other processes that units of a SKU are back or were added.
	Notify(statements *Statements, sku string)
}

// Returned is what came back from expired reservations.
type Returned struct {
	Reservations int
	Segments     map[int]int64 // units, where there are any
}
