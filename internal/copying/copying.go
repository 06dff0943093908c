// Package copying copies all rows of a database into an empty one of another kind: between a SQLite file and PostgreSQL.
//
//	columns of both catalogues ──> rows of one snapshot, one after another ──> COPY, or inserts of many rows ──> one commit
//
// Only the names of the tables stand here; their columns are read. A value on its way is what SQLite has: a text, a number or
// null. A time is microseconds since 1970, a truth value is 0 or 1. So each is afterwards what it was before.
package copying

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"inventory/migrations"
)

// Table is a table, and how many rows it has.
type Table struct {
	Name string
	Rows int
}

// outboxTable has one server's order. On Citus each node has its own, so it is not copied from or to there.
const outboxTable = "outbox"

// Tables returns the names of all tables, each after those that it refers to.
func Tables() []string { return append(migrations.Tables(), outboxTable) }

// Outbox is what an outbox has beside its rows.
type Outbox struct {
	On   bool
	Last int64 // the highest position that was ever given: a version of an order must not be given twice
}

// Rows are rows of a table.
type Rows interface {
	Next() bool
	Values() ([]any, error) // valid until the next call
	Err() error
	Close()
}

// Database is one end of a copy: a transaction in which nobody else writes.
type Database interface {
	// Columns returns the columns of a table whose values mean something in another database, sorted.
	Columns(ctx context.Context, table string) ([]string, error)
	Count(ctx context.Context, table string) (int, error)
	// Read returns the rows of a table in the order of its key.
	Read(ctx context.Context, table string, columns []string) (Rows, error)
	Write(ctx context.Context, table string, columns []string, rows Rows) error
	// LastPosition returns the highest position that the outbox has ever given.
	LastPosition(ctx context.Context) (int64, error)
	// SetOutbox makes the outbox go on after its rows were written.
	SetOutbox(ctx context.Context, o Outbox) error
	Commit(ctx context.Context) error
	// Close ends the transaction, and undoes what is not committed.
	Close() error
}

// Count counts the rows of tables.
func Count(ctx context.Context, d Database, names []string) (tables []Table, err error) {
	for _, name := range names {
		rows, err := d.Count(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("count the rows of %s: %w", name, err)
		}
		tables = append(tables, Table{name, rows})
	}
	return tables, nil
}

// ErrNotEmpty means that a database to copy into has rows already.
var ErrNotEmpty = errors.New("is not empty")

// Copy copies tables, all or nothing, and calls copied for each row. It refuses a target that has any row.
func Copy(ctx context.Context, from, to Database, tables []Table, outbox Outbox, copied func()) error {
	for _, name := range Tables() {
		rows, err := to.Count(ctx, name)
		if err == nil && rows > 0 {
			err = fmt.Errorf("the target %w: its table %s has %d rows", ErrNotEmpty, name, rows)
		}
		if err != nil {
			return err
		}
	}
	for _, table := range tables {
		if err := copyTable(ctx, from, to, table, copied); err != nil {
			return fmt.Errorf("copy %s: %w", table.Name, err)
		}
	}
	if err := to.SetOutbox(ctx, outbox); err != nil {
		return fmt.Errorf("copy the state of the outbox: %w", err)
	}
	if err := to.Commit(ctx); err != nil {
		return fmt.Errorf("commit the copy: %w", err)
	}
	return nil
}

func copyTable(ctx context.Context, from, to Database, table Table, copied func()) error {
	columns, err := from.Columns(ctx, table.Name)
	if err != nil {
		return err
	}
	there, err := to.Columns(ctx, table.Name)
	if err != nil {
		return err
	}
	if !slices.Equal(columns, there) {
		return fmt.Errorf("it has the columns %q, and %q in the target", columns, there)
	}
	rows, err := from.Read(ctx, table.Name, columns)
	if err != nil {
		return err
	}
	defer rows.Close()
	counted := &counting{Rows: rows, copied: copied}
	if err := to.Write(ctx, table.Name, columns, counted); err != nil {
		return err
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if counted.rows != table.Rows {
		return fmt.Errorf("it has %d rows, and %d were read", table.Rows, counted.rows)
	}
	return nil
}

// counting are rows that are counted.
type counting struct {
	Rows
	rows   int
	copied func()
}

// Next implements [Rows].
func (c *counting) Next() bool {
	if !c.Rows.Next() {
		return false
	}
	c.rows++
	c.copied()
	return true
}
