package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"inventory/internal/stock/tables"
)

// each reads the rows of a query of a prepared statement.
func each(ctx context.Context, s *sql.Stmt, read func(tables.Row) error, args []any) error {
	args, err := arguments(args)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := read(rows); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// changed reports whether a statement changed a row.
func changed(result sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// orNull returns a text, or null if it is empty.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// A time is kept in microseconds since 1970.
func micros(t time.Time) int64 { return t.UnixMicro() }

// microsOrNull returns null for the zero time.
func microsOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return micros(t)
}
