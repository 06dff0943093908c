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
	}, sql.LevelDefault)
	if err != nil {
		return nil, fmt.Errorf("open SQLite: %w", err)
	}
	return d, nil
}

func insert(ctx context.Context, d *Database, table string, names []string, rows *rows) error {
	statement, err := d.tx.PrepareContext(ctx, `INSERT INTO `+table+` (`+strings.Join(names, ", ")+`) VALUES (?`+strings.Repeat(", ?", len(names)-1)+`)`)
	if err != nil {
		return err
	}
	for err == nil && rows.Next() {
		var row []any
		if row, err = rows.Values(); err == nil {
			_, err = statement.ExecContext(ctx, row...)
		}
	}
	return errors.Join(err, statement.Close())
}
