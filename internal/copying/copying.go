// Package copying copies all rows of a database into an empty one of another kind: between a SQLite file and PostgreSQL.
//
//	columns of both catalogues ──> rows of one snapshot, one after another ──> COPY, or inserts of many rows ──> one commit
//
// Only the names of the tables stand here; their columns are read. A value on its way is what SQLite has: a text, a number or
// null. A time is microseconds since 1970, a truth value is 0 or 1. So each is afterwards what it was before.
package copying

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

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

// Database is one end of a copy: a transaction in which nobody else writes.
type Database struct {
	db   *sql.DB
	conn *sql.Conn
	tx   *sql.Tx
	kind
}

// kind is what the kinds of databases do not have in common.
type kind struct {
	// columns lists the columns of a table whose values mean something in another database, sorted: the name of each, its type, and
	// its place in the key, 0 for none.
	columns string
	form    func(kind string) (form, error) // of a type
	last    string                          // returns the highest position that the outbox has ever given: it must not be given twice
	goOn    string                          // makes the outbox go on after a position; "": it need not
	turnOn  []string                        // turn the outbox on
	write   func(ctx context.Context, d *Database, table string, names []string, rows *rows) error
}

// form is how the values of a type are read, and made of what was read.
type form struct {
	read  string
	value func(any) any
}

// same is the form of a value that SQLite has, too.
func same() form { return form{"%s", func(v any) any { return v }} }

// Column is a column of a table.
type Column struct {
	Name string
	form
	key int
}

// begin begins the transaction of a database that has just been opened.
func begin(ctx context.Context, db *sql.DB, k kind, isolation sql.IsolationLevel) (d *Database, err error) {
	d = &Database{db: db, kind: k}
	if d.conn, err = db.Conn(ctx); err == nil {
		d.tx, err = d.conn.BeginTx(ctx, &sql.TxOptions{Isolation: isolation})
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Columns returns the columns of a table whose values mean something in another database, sorted.
func (d *Database) Columns(ctx context.Context, table string) (columns []Column, err error) {
	found, err := d.tx.QueryContext(ctx, d.columns, table)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	for found.Next() {
		var c Column
		var kind string
		if err := found.Scan(&c.Name, &kind, &c.key); err != nil {
			return nil, err
		}
		if c.form, err = d.form(kind); err != nil {
			return nil, fmt.Errorf("the column %s: %w", c.Name, err)
		}
		columns = append(columns, c)
	}
	return columns, found.Err()
}

func names(columns []Column) (names []string) {
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return names
}

// Count counts the rows of tables.
func (d *Database) Count(ctx context.Context, names []string) (tables []Table, err error) {
	for _, name := range names {
		table := Table{Name: name}
		if err := d.tx.QueryRowContext(ctx, `SELECT count(*) FROM `+name).Scan(&table.Rows); err != nil {
			return nil, fmt.Errorf("count the rows of %s: %w", name, err)
		}
		tables = append(tables, table)
	}
	return tables, nil
}

// read returns the rows of a table in the order of its key.
func (d *Database) read(ctx context.Context, table string, columns []Column) (*sql.Rows, error) {
	var values []string
	for _, c := range columns {
		values = append(values, fmt.Sprintf(c.form.read, c.Name))
	}
	key := slices.DeleteFunc(slices.Clone(columns), func(c Column) bool { return c.key == 0 })
	slices.SortFunc(key, func(a, b Column) int { return cmp.Compare(a.key, b.key) })
	return d.tx.QueryContext(ctx, `SELECT `+strings.Join(values, ", ")+` FROM `+table+` ORDER BY `+strings.Join(names(key), ", "))
}

// copyOutbox makes the target's outbox go on where the source's is, after its rows were written.
func copyOutbox(ctx context.Context, from, to *Database, on bool) error {
	var last int64
	err := from.tx.QueryRowContext(ctx, from.last).Scan(&last)
	if err == nil && to.goOn != "" {
		_, err = to.tx.ExecContext(ctx, to.goOn, last)
	}
	if !on {
		return err
	}
	for _, statement := range to.turnOn {
		if err == nil {
			_, err = to.tx.ExecContext(ctx, statement)
		}
	}
	return err
}

// Close ends the transaction, and undoes what is not committed.
func (d *Database) Close() (err error) {
	if d.tx != nil {
		if err = d.tx.Rollback(); errors.Is(err, sql.ErrTxDone) {
			err = nil
		}
	}
	if d.conn != nil {
		err = errors.Join(err, d.conn.Close())
	}
	return errors.Join(err, d.db.Close())
}

// ErrNotEmpty means that a database to copy into has rows already.
var ErrNotEmpty = errors.New("is not empty")

// Copy copies tables, all or nothing, and calls copied for each row. It refuses a target that has any row. With outboxOn the target's
// outbox is turned on.
func Copy(ctx context.Context, from, to *Database, tables []Table, outboxOn bool, copied func()) error {
	there, err := to.Count(ctx, Tables())
	if err != nil {
		return err
	}
	for _, table := range there {
		if table.Rows > 0 {
			return fmt.Errorf("the target %w: its table %s has %d rows", ErrNotEmpty, table.Name, table.Rows)
		}
	}
	for _, table := range tables {
		if err := copyTable(ctx, from, to, table, copied); err != nil {
			return fmt.Errorf("copy %s: %w", table.Name, err)
		}
	}
	if err := copyOutbox(ctx, from, to, outboxOn); err != nil {
		return fmt.Errorf("copy the state of the outbox: %w", err)
	}
	if err := to.tx.Commit(); err != nil {
		return fmt.Errorf("commit the copy: %w", err)
	}
	return nil
}

func copyTable(ctx context.Context, from, to *Database, table Table, copied func()) error {
	columns, err := from.Columns(ctx, table.Name)
	if err != nil {
		return err
	}
	there, err := to.Columns(ctx, table.Name)
	if err != nil {
		return err
	}
	if !slices.Equal(names(columns), names(there)) {
		return fmt.Errorf("it has the columns %q, and %q in the target", names(columns), names(there))
	}
	read, err := from.read(ctx, table.Name, columns)
	if err != nil {
		return err
	}
	defer read.Close()
	underWay := &rows{Rows: read, as: there, values: make([]any, len(columns)), copied: copied}
	return errors.Join(to.write(ctx, to, table.Name, names(there), underWay), read.Err())
}

// rows are the rows of a table on their way.
type rows struct {
	*sql.Rows
	as     []Column // of the target
	values []any    // of the current row
	copied func()   // is called for each
}

// Next implements [pgx.CopyFromSource].
func (r *rows) Next() bool {
	if !r.Rows.Next() {
		return false
	}
	r.copied()
	return true
}

// Values returns the current row as the target has it. It is valid until the next call.
func (r *rows) Values() ([]any, error) {
	into := make([]any, len(r.values))
	for i := range into {
		into[i] = &r.values[i]
	}
	err := r.Scan(into...)
	for i, v := range r.values {
		if v != nil {
			r.values[i] = r.as[i].value(v)
		}
	}
	return r.values, err
}
