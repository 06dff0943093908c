package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/stock"
)

// errRaced rolls a transaction back whose decision rests on what has changed meanwhile. Then it begins again. This ends:
// each time another transaction has committed something.
var errRaced = errors.New("another transaction was faster")

// inTx runs work in a transaction at READ COMMITTED, again after each race. An error of work rolls back. The commit must
// happen before the deadline, or the context's if that is earlier or the deadline is zero; else it is [stock.ErrLate].
func (s *Store) inTx(ctx context.Context, deadline time.Time, work func(transaction) error) error {
	until, _ := ctx.Deadline()
	deadline = stock.Earlier(deadline, until)
	for {
		err := s.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error { return s.once(ctx, conn, deadline, work) })
		if !errors.Is(err, errRaced) {
			return translate(err)
		}
	}
}

// once runs work in one transaction. If that is still open afterwards, the pool closes its connection.
func (s *Store) once(ctx context.Context, conn *pgxpool.Conn, deadline time.Time, work func(transaction) error) error {
	tx, err := conn.BeginTx(ctx, s.pool.dialect.options(pgx.TxOptions{IsoLevel: pgx.ReadCommitted}))
	if err != nil {
		return err
	}
	err = work(transaction{tx, s.pool.dialect})
	if err == nil && deadline.IsZero() {
		return tx.Commit(ctx)
	}
	if err == nil {
		err = s.commitBefore(ctx, conn.Conn(), deadline)
	}
	if err != nil && conn.Conn().PgConn().TxStatus() != idle {
		return errors.Join(err, tx.Rollback(ctx))
	}
	return err
}

// idle is the state of a connection without a transaction.
const idle = 'I'

// commitBefore commits, unless the server's clock is past a deadline. The check and the commit go out as one message, which
// the server begins to carry out when all of it has arrived. So the network cannot delay one without the other.
func (s *Store) commitBefore(ctx context.Context, conn *pgx.Conn, deadline time.Time) error {
	last := s.clock.at(deadline).UTC().Format("2006-01-02 15:04:05.999999Z07:00")
	_, err := conn.PgConn().Exec(ctx, `SELECT 1 / (clock_timestamp() <= '`+last+`')::integer; COMMIT`).ReadAll()
	if stateOf(err) == divisionByZero {
		return stock.ErrLate
	}
	return err
}

// countRows notes how many rows were written.
func countRows(rows *int64) func(pgconn.CommandTag) error {
	return func(tag pgconn.CommandTag) error {
		*rows = tag.RowsAffected()
		return nil
	}
}

// allOf expects that so many rows were written; any other number is a race.
func allOf(rows int) func(pgconn.CommandTag) error {
	return func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() != int64(rows) {
			return errRaced
		}
		return nil
	}
}
