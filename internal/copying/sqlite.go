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

// OpenSQLite begins a transaction on a SQLite file, which must have the schema, and which the caller owns by [sqlite.LockFile]. A
// transaction that writes keeps out others that do.
func OpenSQLite(ctx context.Context, name string, write bool) (*Database, error) {
	dsn := sqlite.DSN(name)
	if write {
		dsn += "&_txlock=immediate"
	}
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open SQLite: %w", err)
	}
	d, err := begin(ctx, db, kind{
		columns: `SELECT name, '', pk FROM pragma_table_info($1) ORDER BY name`,
		form:    func(string) (form, error) { return same(), nil },
		last:    `SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'outbox'), 0)`,
		goOn:    `DELETE FROM sqlite_sequence WHERE name = 'outbox'; INSERT INTO sqlite_sequence (name, seq) VALUES ('outbox', $1)`,
		turnOn:  sqlite.TurnOutboxOn(),
		write:   insert,
	}, sql.LevelDefault, func(*sql.Conn) error { return nil })
	if err != nil {
		return nil, fmt.Errorf("open SQLite: %w", err)
	}
	return d, nil
}

// rowsAtOnce is how many rows one insert writes.
const rowsAtOnce = 100

func insert(ctx context.Context, d *Database, table string, names []string, rows *rows) error {
	statement := func(rows int) string {
		row := "(?" + strings.Repeat(", ?", len(names)-1) + ")"
		return `INSERT INTO ` + table + ` (` + strings.Join(names, ", ") + `) VALUES ` + row + strings.Repeat(", "+row, rows-1)
	}
	many, err := d.tx.PrepareContext(ctx, statement(rowsAtOnce))
	if err != nil {
		return err
	}
	values := make([]any, 0, rowsAtOnce*len(names))
	for err == nil && rows.Next() {
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
		_, err = d.tx.ExecContext(ctx, statement(len(values)/len(names)), values...)
	}
	return errors.Join(err, many.Close())
}
