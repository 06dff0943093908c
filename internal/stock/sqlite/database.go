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

	"inventory/internal/stock/tables"
)

//go:embed *.sql
var files embed.FS

// A database prepares each statement once, because to prepare one takes as long as ten inserts.
type database struct {
	*sql.DB
	statements tables.Set
	mu         sync.Mutex
	prepared   map[string]*sql.Stmt // by name; nil for a statement that was first used in a transaction
}

func openDatabase(dsn string) (*database, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open SQLite: %w", err)
	}
	return &database{DB: db, statements: tables.ReadSQL(files), prepared: make(map[string]*sql.Stmt)}, nil
}

// statement prepares a statement, or finds it. The caller must not be in a transaction, whose connection may be the only one.
func (d *database) statement(ctx context.Context, name string) (*sql.Stmt, error) {
	if s := d.known(name); s != nil {
		return s, nil
	}
	s, err := d.PrepareContext(ctx, d.statements.Of(name).Text)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if other := d.prepared[name]; other != nil { // another goroutine was faster
		return other, s.Close()
	}
	d.prepared[name] = s
	return s, nil
}

// known returns a statement, or nil if it is not prepared yet: then it is prepared before the next transaction.
func (d *database) known(name string) *sql.Stmt {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.prepared[name]
	if s == nil {
		d.prepared[name] = nil
	}
	return s
}

// wanted returns the names of the statements that were used in a transaction and are not prepared yet.
func (d *database) wanted() (names []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, s := range d.prepared {
		if s == nil {
			names = append(names, name)
		}
	}
	return names
}

// Each implements [tables.Querier].
func (d *database) Each(ctx context.Context, read func(tables.Row) error, name string, args ...any) error {
	s, err := d.statement(ctx, name)
	if err != nil {
		return err
	}
	return each(ctx, s, read, args)
}

// Close closes the statements and the connections.
func (d *database) Close() (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.prepared {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
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

// arguments converts the arguments of statements to what SQLite knows: arrays are JSON.
func arguments(args []any) ([]any, error) {
	for i, a := range args {
		switch a := a.(type) {
		case nil, string, int, int64, *int, []byte:
		case time.Time:
			args[i] = micros(a)
		case tables.Instant:
			args[i] = microsOrNull(time.Time(a))
		case []tables.Instant:
			instants := make([]any, len(a))
			for n, t := range a {
				instants[n] = microsOrNull(time.Time(t))
			}
			text, _ := json.Marshal(instants)
			args[i] = string(text)
		case tables.At:
			args[i] = micros(now(time.Time(a)))
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
