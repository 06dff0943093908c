package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// inTx runs work in a transaction at READ COMMITTED, again after each race. An error of work rolls back. The commit must
// happen before the deadline or the context's, whichever is earlier, otherwise it returns [stock.ErrLate]. A zero deadline is
// none.
func (s *Store) inTx(ctx context.Context, deadline time.Time, work func(transaction) error) error {
	until, _ := ctx.Deadline()
	deadline = stock.Earlier(deadline, until)
	for {
		err := s.once(ctx, deadline, work)
		if !errors.Is(err, tables.ErrRaced) {
			return translate(err)
		}
	}
}

// once runs work in one transaction. If the transaction is still open afterwards, the pool closes its connection. As long as the
// commit was not sent, nothing is written, whatever has failed.
func (s *Store) once(ctx context.Context, deadline time.Time, work func(transaction) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return stock.Unwritten(err)
	}
	defer conn.Release()
	tx, err := conn.BeginTx(ctx, s.pool.options(pgx.TxOptions{IsoLevel: pgx.ReadCommitted}))
	if err != nil {
		return stock.Unwritten(err)
	}
	err = stock.Unwritten(work(transaction{tx, s.pool.dialect, s.clock}))
	if err == nil && deadline.IsZero() {
		return s.pool.dialect.undone(tx.Commit(ctx))
	}
	if err == nil {
		err = s.pool.dialect.undone(s.commitBefore(ctx, conn.Conn(), deadline))
	}
	if err != nil && conn.Conn().PgConn().TxStatus() != idle {
		return errors.Join(err, tx.Rollback(ctx))
	}
	return err
}

// idle is the state of a connection without a transaction.
const idle = 'I'

// commitBefore commits, unless the server's clock is past a deadline. The check and the commit are one message, which the
// server starts to carry out when all of it has arrived. So the network cannot delay one without the other.
func (s *Store) commitBefore(ctx context.Context, conn *pgx.Conn, deadline time.Time) error {
	last := s.clock.at(deadline).UTC().Format("2006-01-02 15:04:05.999999Z07:00")
	_, err := conn.PgConn().Exec(ctx, `SELECT 1 / (clock_timestamp() <= '`+last+`')::integer; COMMIT`).ReadAll()
	if stateOf(err) == divisionByZero {
		return stock.ErrLate
	}
	return err
}

// transaction is a transaction whose statements are in a dialect.
type transaction struct {
	tx      pgx.Tx
	dialect *dialect
	clock   *serverClock // nil: it only reads
}

var _ tables.Tx = transaction{}

// Exec carries out a statement.
func (t transaction) Exec(ctx context.Context, sql string, args ...any) error {
	_, err := t.tx.Exec(ctx, t.dialect.of(sql), args...)
	return err
}

// Each implements [tables.Querier].
func (t transaction) Each(ctx context.Context, read func(tables.Row) error, sql string, args ...any) error {
	rows, err := t.tx.Query(ctx, t.dialect.of(sql), args...)
	if err != nil {
		return err
	}
	return each(read)(rows)
}

// Send implements [tables.Tx].
func (t transaction) Send(ctx context.Context, statements *tables.Statements) error {
	if len(statements.List) == 0 {
		return nil
	}
	return t.tx.SendBatch(ctx, message(statements, t.dialect)).Close()
}

// message returns statements in a dialect, as one message.
func message(statements *tables.Statements, d *dialect) *pgx.Batch {
	m := &pgx.Batch{}
	for _, step := range statements.List {
		q := m.Queue(d.of(step.SQL), step.Args...)
		switch {
		case step.Into != nil:
			q.QueryRow(func(row pgx.Row) error { return row.Scan(step.Into...) })
		case step.Each != nil:
			q.Query(each(step.Each))
		case step.Wrote != nil:
			q.Exec(func(tag pgconn.CommandTag) error { return step.Wrote(tag.RowsAffected()) })
		}
	}
	return m
}

// Notify implements [tables.Tx]. The notification goes out with the commit.
func (t transaction) Notify(statements *tables.Statements, sku string) { statements.Exec(notify, sku) }

// readInstant reads the instant of a decision, once the transaction has its locks: the given one, or the time of the server's
// clock.
const readInstant = `SELECT coalesce($1::timestamptz, clock_timestamp())`

// Instant implements [tables.Tx].
func (t transaction) Instant(statements *tables.Statements, given time.Time, at *time.Time) {
	sent := time.Now()
	statements.Each(func(row tables.Row) error {
		if err := row.Scan((*tables.Time)(at)); err != nil {
			return err
		}
		if given.IsZero() {
			t.clock.note(sent, *at)
		}
		return nil
	}, readInstant, instant(given))
}
