package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

//go:embed *.sql
var files embed.FS

// statements are read once a process: a store reads them for each of its two databases.
var statements = sync.OnceValue(func() tables.Set { return tables.ReadSQL(files) })

// A database has its statements prepared, because to prepare one takes as long as ten inserts.
type database struct {
	*sql.DB
	statements tables.Set
	prepared   map[string]*sql.Stmt // by name; without those that could not be prepared
}

func openDatabase(dsn string) (*database, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open SQLite: %w", err)
	}
	return &database{DB: db, statements: statements(), prepared: make(map[string]*sql.Stmt)}, nil
}

// prepare prepares the statements. One that fails, as where a migration is missing, is tried again for each use, which returns the
// error.
func (d *database) prepare(ctx context.Context) {
	for name, statement := range d.statements {
		if s, err := d.PrepareContext(ctx, statement.Text); err == nil {
			d.prepared[name] = s
		}
	}
}

// Each implements [tables.Querier].
func (d *database) Each(ctx context.Context, read func(tables.Row) error, name string, args ...any) error {
	if s := d.prepared[name]; s != nil {
		return because(ctx, each(ctx, s, read, args))
	}
	s, err := d.PrepareContext(ctx, d.statements.Of(name).Text)
	if err != nil {
		return because(ctx, err)
	}
	return errors.Join(because(ctx, each(ctx, s, read, args)), s.Close())
}

// Close closes the statements and the connections.
func (d *database) Close() (err error) {
	for _, s := range d.prepared {
		err = errors.Join(err, s.Close())
	}
	return errors.Join(err, d.DB.Close())
}

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

// micros returns an instant as it is kept: in microseconds since 1970; null for the zero time.
func micros(i tables.Instant) any {
	if t := time.Time(i); !t.IsZero() {
		return t.UnixMicro()
	}
	return nil
}

// arguments converts the arguments of statements to what SQLite knows: arrays are JSON.
func arguments(args []any) ([]any, error) {
	for i, a := range args {
		switch a := a.(type) {
		case nil, string, int, int64, *int, []byte:
		case time.Time:
			args[i] = a.UnixMicro()
		case tables.Instant:
			args[i] = micros(a)
		case []tables.Instant:
			text, _ := json.Marshal(stock.Column(a, micros))
			args[i] = string(text)
		case tables.At:
			args[i] = now(time.Time(a)).UnixMicro()
		default:
			switch v := reflect.ValueOf(a); {
			case v.Kind() != reflect.Slice:
			case v.IsNil():
				args[i] = nil
			default:
				text, err := json.Marshal(a)
				if err != nil {
					return nil, err
				}
				args[i] = string(text)
			}
		}
	}
	return args, nil
}
