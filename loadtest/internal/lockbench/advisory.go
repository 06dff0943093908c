package lockbench

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/textbook"
)

const advisoryName = textbook.AdvisoryName

// advisory is PostgreSQL's advisory lock of a session. A holder, and a waiter too, needs a connection for itself.
func advisory() kind {
	return kind{name: advisoryName, open: func(ctx context.Context, s servers.URLs, callers int) (client, error) {
		db, sent, err := openPool(ctx, s.DatabaseURL, callers)
		if err != nil {
			return nil, err
		}
		return &textbookClient{
			of:     func(name string) textbook.Lock { return textbook.Advisory{DB: db, Name: name} },
			sent:   sent,
			closer: func() error { db.Close(); return nil },
		}, nil
	}}
}

// openPool connects to PostgreSQL, with a connection for each caller, and counts the statements.
func openPool(ctx context.Context, databaseURL string, callers int) (db *pgxpool.Pool, sent func() int64, err error) {
	config, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return nil, nil, errors.New("database URL: must be postgres://USER:PASSWORD@HOST:PORT/DATABASE") // err may quote a password
	}
	statements := &statements{}
	config.MaxConns, config.ConnConfig.Tracer = int32(callers), statements
	if db, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, nil, fmt.Errorf("reach PostgreSQL: %w", err)
	}
	if err := warmPool(ctx, db, callers); err != nil {
		db.Close()
		return nil, nil, fmt.Errorf("reach PostgreSQL: %w", err)
	}
	return db, statements.Load, nil
}

// warmPool opens all connections and leaves them in the pool.
func warmPool(ctx context.Context, db *pgxpool.Pool, connections int) error {
	for range connections {
		conn, err := db.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
	}
	return nil
}

// statements counts them.
type statements struct{ atomic.Int64 }

// TraceQueryStart implements [pgx.QueryTracer].
func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	s.Add(1)
	return ctx
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (*statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
