package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"inventory/internal/stock/tables"
)

// transactions refuses a pooler that gives a connection to others in the middle of a transaction.
func transactions(ctx context.Context, conn *pgconn.PgConn) error {
	for _, statement := range []string{`BEGIN`, `ROLLBACK`} {
		if _, err := conn.Exec(ctx, statement).ReadAll(); err != nil {
			if Answered(err) {
				return fmt.Errorf("the pooler shares connections between statements: it must do so between transactions "+
					"(pool_mode = transaction) or sessions; it says: %w", err)
			}
			return err
		}
	}
	return nil
}

// readsHere refuses a pooler that sends what a connection reads to a standby, and what it writes to the primary. A server's answer about
// itself when a connection begins is the primary's; SHOW goes where reads go.
func readsHere(ctx context.Context, conn *pgconn.PgConn) error {
	results, err := conn.Exec(ctx, `SHOW in_hot_standby`).ReadAll()
	if err != nil {
		return fmt.Errorf("find out where the pooler reads: %w", err)
	}
	if is := string(results[0].Rows[0][0]); is == "on" && conn.ParameterStatus("in_hot_standby") == "off" {
		return errors.New("the pooler sends what is read to a standby, whose rows are older: " +
			"turn its load balancing off (Pgpool: load_balance_mode = off)")
	}
	return nil
}

// mode sets how statements are sent. In a session that is shared none stays prepared, not even from one message to the next.
func (s *sessions) mode(config *pgx.ConnConfig) {
	if s.shared.Load() && config.DefaultQueryExecMode != pgx.QueryExecModeExec {
		config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
}

const needsNoSession = "needs no session"

// note records whether a connection sends statements as a session that is shared needs it. It also names the type of arguments
// that the driver does not know, for modes in which it does not ask the server.
func (s *sessions) note(next func(context.Context, *pgx.Conn) error) func(context.Context, *pgx.Conn) error {
	return func(ctx context.Context, conn *pgx.Conn) error {
		mode := conn.Config().DefaultQueryExecMode
		conn.PgConn().CustomData()[needsNoSession] = mode == pgx.QueryExecModeCacheDescribe || mode == pgx.QueryExecModeExec
		conn.TypeMap().RegisterDefaultPgType([]tables.Instant(nil), "_timestamptz")
		if next == nil {
			return nil
		}
		return next(ctx, conn)
	}
}

// fits reports whether a connection lives, and sends statements as its session needs it. One that was opened before it was known that
// sessions are shared may not: the pool replaces it.
func (s *sessions) fits(_ context.Context, conn *pgx.Conn) (bool, error) {
	return !conn.IsClosed() && (!s.shared.Load() || conn.PgConn().CustomData()[needsNoSession] == true), nil
}

// judge returns the error of a message. It notes that sessions are shared after all if the error says that a prepared statement is not
// there, or was prepared before.
func (s *sessions) judge(err error) error {
	if err != nil && s.server != nil {
		s.server.failed(err)
	}
	if state := StateOf(err); state == noSuchStatement || state == duplicateStatement {
		s.shared.Store(true)
	}
	return err
}
