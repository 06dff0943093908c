package copying

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	_ "modernc.org/sqlite" // the driver

	"inventory/internal/stock/sqlite"
)

// file is a SQLite file. Its owner holds the lock of [sqlite.LockFile].
type file struct {
	db *sql.DB
	tx *sql.Tx
}

var _ Database = (*file)(nil)

// OpenSQLite begins a transaction on a SQLite file, which must have the schema. A transaction that writes keeps out others that do.
func OpenSQLite(ctx context.Context, name string, write bool) (Database, error) {
	dsn := sqlite.DSN(name)
	if write {
		dsn += "&_txlock=immediate"
	}
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open SQLite: %w", err)
	}
	db.SetMaxOpenConns(1)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open SQLite: %w", err), db.Close())
	}
	return &file{db, tx}, nil
}

// Columns implements [Database].
func (f *file) Columns(ctx context.Context, table string) (columns []string, err error) {
	rows, err := f.tx.QueryContext(ctx, `SELECT name FROM pragma_table_info($1) ORDER BY name`, table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		columns = append(columns, name)
	}
	return columns, rows.Err()
}

// Count implements [Database].
func (f *file) Count(ctx context.Context, table string) (rows int, err error) {
	err = f.tx.QueryRowContext(ctx, `SELECT count(*) FROM `+table).Scan(&rows)
	return rows, err
}

// Read implements [Database]. The tables are kept in the order of their keys.
func (f *file) Read(ctx context.Context, table string, columns []string) (Rows, error) {
	rows, err := f.tx.QueryContext(ctx, `SELECT `+strings.Join(columns, ", ")+` FROM `+table) //nolint:rowserrcheck // Write asks for it
	if err != nil {
		return nil, err
	}
	r := &fileRows{Rows: rows, values: make([]any, len(columns)), into: make([]any, len(columns))}
	for i := range columns {
		r.into[i] = &r.values[i]
	}
	return r, nil
}

// fileRows are rows of a SQLite file.
type fileRows struct {
	*sql.Rows
	values, into []any
}

// Values implements [Rows].
func (r *fileRows) Values() ([]any, error) { return r.values, r.Scan(r.into...) }

// Close implements [Rows].
func (r *fileRows) Close() { _ = r.Rows.Close() } // they were only read, and Err has said what went wrong

// rowsAtOnce is how many rows one insert writes.
const rowsAtOnce = 100

// Write implements [Database].
func (f *file) Write(ctx context.Context, table string, columns []string, rows Rows) error {
	insert := func(rows int) string {
		row := "(?" + strings.Repeat(", ?", len(columns)-1) + ")"
		return `INSERT INTO ` + table + ` (` + strings.Join(columns, ", ") + `) VALUES ` + row + strings.Repeat(", "+row, rows-1)
	}
	many, err := f.tx.PrepareContext(ctx, insert(rowsAtOnce))
	if err != nil {
		return err
	}
	values := make([]any, 0, rowsAtOnce*len(columns))
	for rows.Next() && err == nil {
		var row []any
		if row, err = rows.Values(); err != nil {
			break
		}
		if values = append(values, row...); len(values) == cap(values) {
			_, err = many.ExecContext(ctx, values...)
			values = values[:0]
		}
	}
	if err == nil && len(values) > 0 {
		_, err = f.tx.ExecContext(ctx, insert(len(values)/len(columns)), values...)
	}
	return errors.Join(err, many.Close())
}

// LastPosition implements [Database].
func (f *file) LastPosition(ctx context.Context) (last int64, err error) {
	err = f.tx.QueryRowContext(ctx, `SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'outbox'), 0)`).Scan(&last)
	return last, err
}

// SetOutbox implements [Database].
func (f *file) SetOutbox(ctx context.Context, o Outbox) error {
	_, err := f.tx.ExecContext(ctx, `DELETE FROM sqlite_sequence WHERE name = 'outbox'; INSERT INTO sqlite_sequence (name, seq) VALUES ('outbox', $1)`, o.Last)
	if o.On {
		for _, statement := range sqlite.TurnOutboxOn() {
			if err == nil {
				_, err = f.tx.ExecContext(ctx, statement)
			}
		}
	}
	return err
}

// Commit implements [Database].
func (f *file) Commit(context.Context) error { return f.tx.Commit() }

// Close implements [Database].
func (f *file) Close() error {
	if err := f.tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return errors.Join(fmt.Errorf("end the transaction: %w", err), f.db.Close())
	}
	return f.db.Close()
}
