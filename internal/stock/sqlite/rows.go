package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"time"
)

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// each calls scan for every row of a query by a reader.
func (s *Store) each(ctx context.Context, scan func(*sql.Rows) error, query string, args ...any) error {
	return eachRow(ctx, s.reader, scan, query, args...)
}

func eachRow(ctx context.Context, q querier, scan func(*sql.Rows) error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := scan(rows); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// changed tells whether a statement changed a row.
func changed(result sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// list is an argument of many texts: a JSON array, for SQLite has no arrays.
type list []string

// Value implements [driver.Valuer].
func (l list) Value() (driver.Value, error) {
	text, err := json.Marshal([]string(l))
	return string(text), err
}

// orNull is a text, or null where there is none.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// A time is kept in microseconds since 1970.
func micros(t time.Time) int64 { return t.UnixMicro() }

// microsOrNull is null for the zero time.
func microsOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return micros(t)
}

func timeOf(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// timeOrZero is the zero time for null.
func timeOrZero(micros sql.NullInt64) time.Time {
	if !micros.Valid {
		return time.Time{}
	}
	return timeOf(micros.Int64)
}
