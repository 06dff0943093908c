// Package tables has the common parts of all SQL stores: their verbs, from the statements that a verb needs and their order
// ([Base], [DeductBatch], [PlaceOrder], [Settle]) to where columns are scanned.
//
// A verb names its statements. Each store has a text for every name, in .sql files of its own ([ReadSQL]), and says how it reads
// ([Querier]) and writes ([Tx]). A store may override a verb with a faster version.
package tables

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"inventory/internal/stock"
)

// Row is a row of a query.
type Row interface{ Scan(into ...any) error }

// Querier is a database or a transaction.
type Querier interface {
	// Each calls read for every row of the query of that name.
	Each(ctx context.Context, read func(Row) error, query string, args ...any) error
}

// One reads the only row of a query, and reports false if there is none.
func One(ctx context.Context, q Querier, into []any, query string, args ...any) (found bool, err error) {
	err = q.Each(ctx, func(row Row) error {
		found = true
		return row.Scan(into...)
	}, query, args...)
	return found, err
}

// ErrNoRow says that a row is missing that a query always has.
var ErrNoRow = errors.New("a row that is always there is missing")

// Single reads the row of a query that always has one: a missing row must not be taken for zero.
func Single(ctx context.Context, q Querier, into []any, query string, args ...any) error {
	found, err := One(ctx, q, into, query, args...)
	if err == nil && !found {
		err = ErrNoRow
	}
	return err
}

// All reads the rows of a query; nil if there are none.
func All[T any](ctx context.Context, q Querier, read func(Row) (T, error), query string, args ...any) (all []T, err error) {
	err = q.Each(ctx, func(row Row) error {
		one, err := read(row)
		all = append(all, one)
		return err
	}, query, args...)
	return all, err
}

// Value reads a row of one column.
func Value[T any](row Row) (value T, err error) {
	err = row.Scan(&value)
	return value, err
}

// Into reads rows of a key and a value.
func Into[T any](found map[string]T) func(Row) error {
	return func(row Row) error {
		var key string
		var value T
		err := row.Scan(&key, &value)
		found[key] = value
		return err
	}
}

// SKUExists returns nil if a SKU exists, otherwise the error for an unknown SKU.
func SKUExists(ctx context.Context, q Querier, sku string) error {
	found, err := One(ctx, q, []any{new(int)}, "sku_exists", sku)
	if err == nil && !found {
		return stock.UnknownSKU(sku)
	}
	return err
}

// Time is where a time is scanned: a timestamp, or microseconds since 1970; zero if it is null.
type Time time.Time

// Scan implements [sql.Scanner].
func (t *Time) Scan(column any) error {
	switch at := column.(type) {
	case nil:
		*t = Time{}
	case time.Time:
		*t = Time(at.UTC())
	case int64:
		*t = Time(time.UnixMicro(at).UTC())
	default:
		return fmt.Errorf("read a time: it is a %T", column)
	}
	return nil
}

// Micros is where a duration in microseconds is scanned; zero if it is null.
type Micros time.Duration

// Scan implements [sql.Scanner].
func (m *Micros) Scan(column any) error {
	switch n := column.(type) {
	case nil:
		*m = 0
	case int64:
		*m = Micros(time.Duration(n) * time.Microsecond)
	default:
		return fmt.Errorf("read a duration: it is a %T", column)
	}
	return nil
}

// Levels is where a JSON array of what segments hold is scanned.
type Levels []int64

// Scan implements [sql.Scanner].
func (l *Levels) Scan(column any) error {
	text, is := column.(string)
	if !is {
		return fmt.Errorf("read what segments hold: it is a %T", column)
	}
	*l = nil
	return json.Unmarshal([]byte(text), l)
}

// Base is the part of a store that is the same in all SQL databases. A store embeds one.
type Base struct {
	DB Querier
	// InTx runs work in a transaction, again after [ErrRaced]. An error of work rolls back. It commits before the deadline or the
	// context's, whichever is earlier, otherwise it returns [stock.ErrLate]. A zero deadline is none.
	InTx func(ctx context.Context, deadline time.Time, work func(Tx) error) error
	// Swept is what the store knows of reservations that have expired, by the clock that Now reads; nil: a search costs nothing.
	Swept *Swept
	Now   func() time.Time
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
