package postgres

import (
	"context"
	"embed"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

//go:embed *.sql
var files embed.FS

// statements are read once a process: to read them takes as long as to connect.
var statements = sync.OnceValue(func() tables.Set { return tables.ReadSQL(files) })

// Statements returns the statements of this package by their names, in a map of the caller's own.
func Statements() tables.Set { return maps.Clone(statements()) }

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
	// Limit is how long a statement, a commit or a rollback may take; 0: two seconds.
	Limit time.Duration
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
	o.use(database{Pool: s.pool.Pool, access: access, sessions: s.sessions, swept: &tables.Swept{}})
	return &o
}

// use sets the database of the store.
func (s *Store) use(pool database) {
	s.pool = pool
	s.Base = tables.Base{DB: pool, Now: s.Now, Swept: pool.swept, InTx: func(ctx context.Context, deadline time.Time, work func(tables.Tx) error) error {
		return s.inTx(ctx, deadline, func(tx transaction) error { return work(tx) })
	}}
}

// database is a pool, and how statements reach their tables.
type database struct {
	*pgxpool.Pool
	access   Access
	sessions *sessions
	swept    *tables.Swept
	writes   bool // its messages write: their errors are [stock.ErrUnwritten] where that is certain
}

// writing returns the database for messages that write.
func (d database) writing() database {
	d.writes = true
	return d
}

// Each implements [tables.Querier]. Only after the last row is it certain that a write is committed. After a read the server's clock is
// read in the same message: nothing that is read is later than the clock is known to be.
func (d database) Each(ctx context.Context, read func(tables.Row) error, name string, args ...any) error {
	statements, server, takesNoWrites := locksOf(d.access), time.Time{}, false
	statements.SQL = d.access.SQL
	statements.Each(read, name, args...)
	if d.writes {
		return d.send(ctx, statements)
	}
	statements.Single([]any{&server, &takesNoWrites}, "clock")
	sent := time.Now()
	if err := d.send(ctx, statements); err != nil {
		return err
	}
	d.sessions.clock.note(sent, server)
	return d.sessions.server.read(takesNoWrites)
}

// locksOf returns the statements that take the locks of accesses, each once.
func locksOf(accesses ...Access) *tables.Statements {
	taken, locks := make(map[string]bool), &tables.Statements{}
	for _, a := range accesses {
		if a.Lock != "" && !taken[a.Lock] {
			taken[a.Lock] = true
			locks.List = append(locks.List, &tables.Statement{SQL: tables.SQL{Text: a.Lock}})
		}
	}
	return locks
}

// locksToShare returns the first statements of a shared write. They wait for these locks no longer than shared writes wait for
// anything, so that tables that are locked hold up no others.
func locksToShare(accesses ...Access) *tables.Statements {
	locks := locksOf(accesses...)
	bound := &tables.Statement{SQL: accesses[0].SQL("limit_waits"), Args: []any{sharedWait}}
	locks.List = slices.Insert(locks.List, 0, bound)
	return locks
}

// send sends statements as one message, which is a transaction. If one of them fails, or there is no connection to send it on, nothing
// is written.
func (d database) send(ctx context.Context, statements *tables.Statements) error {
	conn, err := d.Acquire(ctx)
	if err == nil {
		defer conn.Release()
		if err = d.sendOn(ctx, conn.Conn(), statements); !d.writes {
			return err
		}
		if err == nil {
			d.sessions.server.wrote()
		}
		return d.access.undone(err)
	}
	if d.writes {
		return stock.Unwritten(err)
	}
	return err
}

// sendOn sends statements as one message, on a connection.
func (d database) sendOn(ctx context.Context, conn *pgx.Conn, statements *tables.Statements) error {
	m, patient := &pgx.Batch{}, false
	for _, step := range statements.List {
		if step.SQL.Text == "" {
			step.SQL = d.access.SQL(step.Name)
		}
		patient = patient || step.SQL.Patient
		q := m.Queue(step.SQL.Text, step.Args...)
		switch {
		case step.Into != nil:
			q.QueryRow(func(row pgx.Row) error { return row.Scan(step.Into...) })
		case step.Each != nil:
			q.Query(each(step.Each))
		case step.Wrote != nil:
			q.Exec(func(tag pgconn.CommandTag) error { return step.Wrote(tag.RowsAffected()) })
		}
	}
	send := func(ctx context.Context) error { return conn.SendBatch(ctx, m).Close() }
	if patient {
		return d.sessions.judge(send(ctx))
	}
	return d.sessions.judge(d.access.limited(ctx, send))
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
