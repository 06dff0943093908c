package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// writing is a database for a statement that writes, and is a transaction by itself. Its errors are [stock.ErrUnwritten] where that
// is certain.
type writing struct{ database }

// Each implements [tables.Querier].
func (w writing) Each(ctx context.Context, read func(tables.Row) error, sql string, args ...any) error {
	return w.write(ctx, func(conn *pgxpool.Conn) error { return w.each(ctx, conn, read, sql, args) })
}

// write sends one message that is a transaction. Nothing is written if there is no connection to send it on.
func (d database) write(ctx context.Context, send func(*pgxpool.Conn) error) error {
	conn, err := d.Acquire(ctx)
	if err != nil {
		return stock.Unwritten(err)
	}
	defer conn.Release()
	return d.dialect.undone(send(conn))
}

// undone marks the error of a message that commits, if nothing is written for certain: the message was not sent, or the server has
// answered that it has undone the transaction. A coordinator answers so after a commit at some of its nodes, too.
func (d *dialect) undone(err error) error {
	if unsent(err) || !d.routes() && rolledBack(err) {
		return stock.Unwritten(err)
	}
	return err
}

// unsent reports whether a message was not sent. pgconn says so of a connection that it finds closed, too, also if it closed it
// itself because the answer to the message did not come.
func unsent(err error) bool { return pgconn.SafeToRetry(err) && !errors.Is(err, pgconn.ErrConnClosed) }

// rolledBack reports whether the server has answered with an error that undoes the transaction. PostgreSQL sends no ERROR after
// a commit. A FATAL may come after it. What poolers and proxies say when they lose the server has other SQLSTATEs than these.
func rolledBack(err error) bool {
	pgErr, answered := errors.AsType[*pgconn.PgError](err)
	if !answered || pgErr.SeverityUnlocalized != "ERROR" || len(pgErr.Code) != len("00000") {
		return false
	}
	return slices.Contains([]string{serializationFailure, deadlockDetected, queryCanceled, gone}, pgErr.Code) ||
		slices.Contains([]string{
			"0A", "21", constraintViolation, dataException, "25", "26", // not supported; cardinality; the transaction's state; no such statement
			"42", "53", "54", "55", "P0", // access; resources; limits of the server; not in the right state; raised by a trigger
		}, pgErr.Code[:2])
}
