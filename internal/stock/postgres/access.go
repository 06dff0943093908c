package postgres

import (
	"context"
	"embed"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

//go:embed *.sql
var files embed.FS

// Statements returns the statements of this package by their names.
func Statements() tables.Set { return tables.ReadSQL(files) }

// Access is how the statements of a store reach its tables:
//
//	a verb names a statement ──> SQL returns its text ──> Begin and Lock, in the same message ──> the server
//
// A store that is opened by [Open] has tables of its own: it sends each text as it stands in this package's files, and nothing
// before it. All but SQL may be left out.
type Access struct {
	// SQL returns the statement of a name: one of [Statements] or another in its place, or one that only the opener knows.
	SQL func(name string) tables.SQL
	// Begin are settings at the beginning of each transaction, each with a semicolon.
	Begin string
	// Lock comes before each statement outside a transaction, and first in each transaction. If it fails, nothing is written.
	Lock string
	// Scattered says that a commit may be done at some servers, and not at others, when the answer to it is an error.
	Scattered bool
	// Orders writes orders of several SKUs that wait at the same time, and returns when each was taken, nil if it was not. Nil:
	// one statement does.
	Orders func(ctx context.Context, s *Store, deadline time.Time, orders []stock.Placement) ([]*time.Time, error)
}

// With returns a store on other tables, which shares the connections of this one, and its shared writes. This one closes them.
func (s *Store) With(access Access) *Store {
	o := *s
	o.shares = true
	o.use(database{s.pool.Pool, access, s.sessions})
	return &o
}

// use sets the database of the store.
func (s *Store) use(pool database) {
	s.pool = pool
	s.Base = tables.Base{DB: pool, InTx: func(ctx context.Context, deadline time.Time, work func(tables.Tx) error) error {
		return s.inTx(ctx, deadline, func(tx transaction) error { return work(tx) })
	}}
}

// database is a pool, and how statements reach their tables.
type database struct {
	*pgxpool.Pool
	access   Access
	sessions *sessions
}

// Each implements [tables.Querier]. Only after the last row is it certain that a write is committed.
func (d database) Each(ctx context.Context, read func(tables.Row) error, name string, args ...any) error {
	return d.each(ctx, d.Pool, read, name, args)
}

// querier is a pool, or one of its connections.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

func (d database) each(ctx context.Context, on querier, read func(tables.Row) error, name string, args []any) error {
	sql := d.access.SQL(name)
	ctx = during(ctx, sql)
	if d.access.Lock == "" {
		rows, err := on.Query(ctx, sql.Text, args...)
		if err != nil {
			return err
		}
		return each(read)(rows)
	}
	statements := &pgx.Batch{}
	statements.Queue(d.access.Lock)
	statements.Queue(sql.Text, args...).Query(each(read))
	return on.SendBatch(ctx, statements).Close()
}

// each reads the rows of a query.
func each(read func(tables.Row) error) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			if err := read(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	}
}

// writing is a database for a statement that writes, and is a transaction by itself. Its errors are [stock.ErrUnwritten] where that
// is certain.
type writing struct{ database }

// Each implements [tables.Querier].
func (w writing) Each(ctx context.Context, read func(tables.Row) error, name string, args ...any) error {
	return w.write(ctx, func(conn *pgxpool.Conn) error { return w.each(ctx, conn, read, name, args) })
}

// write sends one message that is a transaction. Nothing is written if there is no connection to send it on.
func (d database) write(ctx context.Context, send func(*pgxpool.Conn) error) error {
	conn, err := d.Acquire(ctx)
	if err != nil {
		return stock.Unwritten(err)
	}
	defer conn.Release()
	return d.access.undone(send(conn))
}

// noting reads from a database, and the server's clock after each query, in the same message: nothing that is read is later
// than the clock is known to be.
type noting struct {
	database
	clock *serverClock
}

// Each implements [tables.Querier].
func (n noting) Each(ctx context.Context, read func(tables.Row) error, name string, args ...any) error {
	sql, statements, server := n.access.SQL(name), &pgx.Batch{}, time.Time{}
	if n.access.Lock != "" {
		statements.Queue(n.access.Lock)
	}
	statements.Queue(sql.Text, args...).Query(each(read))
	statements.Queue(n.access.SQL("clock").Text).QueryRow(func(row pgx.Row) error { return row.Scan(&server) })
	sent := time.Now()
	if err := n.SendBatch(during(ctx, sql), statements).Close(); err != nil {
		return err
	}
	n.clock.note(sent, server)
	return nil
}

// joint are statements of one transaction that go to the server in one message, of stores that share its connections. They come
// after the locks of their accesses. They wait for these no longer than shared writes wait for anything, so that tables that are
// locked hold up no others.
type joint struct {
	tables.Statements
	locks []string
}

// lock takes the lock of an access, unless it has none or the message has it already.
func (j *joint) lock(a Access) {
	if a.Lock == "" || slices.Contains(j.locks, a.Lock) {
		return
	}
	if len(j.locks) == 0 {
		j.List = slices.Insert(j.List, 0, &tables.Statement{SQL: a.SQL("limit_waits"), Args: []any{sharedWait}})
	}
	j.locks = append(j.locks, a.Lock)
	j.List = slices.Insert(j.List, len(j.locks), &tables.Statement{SQL: tables.SQL{Text: a.Lock}})
}

// in adds a statement of an access.
func (j *joint) in(a Access, name string, args ...any) *tables.Statement {
	j.lock(a)
	j.SQL = a.SQL
	return j.Exec(name, args...)
}

// send sends the statements as one transaction. If one of them fails, nothing is written.
func (j *joint) send(ctx context.Context, pool database) error {
	return pool.write(ctx, func(conn *pgxpool.Conn) error { return conn.SendBatch(ctx, message(&j.Statements)).Close() })
}

// options makes a transaction begin with its settings and the lock of its access, in one message.
func (d database) options(o pgx.TxOptions) pgx.TxOptions {
	first := d.sessions.local() + d.access.Begin + d.access.Lock
	if first == "" {
		return o
	}
	begin := o.BeginQuery
	if begin == "" {
		begin = strings.TrimSpace("BEGIN ISOLATION LEVEL " + string(o.IsoLevel) + " " + string(o.AccessMode))
	}
	o.BeginQuery = begin + "; " + first
	return o
}
