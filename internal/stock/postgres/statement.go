package postgres

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/multitracer"

	"inventory/internal/stock/tables"
)

// statementLimit is how long one statement may take. Its connection may have died unnoticed, and after this long no caller
// waits for the answer any more.
const statementLimit = 2 * time.Second

// patient reports whether a statement may take as long as its caller allows, because it reads or changes all rows, or because it
// is in one message with the waits for the rows of all lines of an order.
func patient(statement string) bool {
	switch statement {
	case tables.AuditSQL, tables.SelectAccepted, expireSQL, trimOutbox, outboxOnSQL, outboxOffSQL, tables.CountAll, tables.DropCounts, selectOrderLines, placedSQL,
		tables.InsertLines:
		return true
	default:
		return strings.HasPrefix(statement, patientMark)
	}
}

// limits is the tracer of a connection. It gives each statement a context that ends in time. If the connection dies of that,
// its host counts as failed before another connection is made.
type limits struct {
	hosts    *hosts
	sessions *sessions
}

var (
	_ pgx.QueryTracer = limits{}
	_ pgx.BatchTracer = limits{}
)

// limitStatements sets the tracer, and keeps one that is set already.
func limitStatements(config *pgx.ConnConfig, hosts *hosts, sessions *sessions) {
	if config.Tracer == nil {
		config.Tracer = limits{hosts, sessions}
	} else {
		config.Tracer = multitracer.New(limits{hosts, sessions}, config.Tracer)
	}
}

type limitKey struct{}

func limit(ctx context.Context) context.Context {
	if deadline, has := ctx.Deadline(); has && time.Until(deadline) <= statementLimit {
		return ctx
	}
	limited, cancel := context.WithTimeout(ctx, statementLimit)
	return context.WithValue(limited, limitKey{}, cancel)
}

func (l limits) unlimit(ctx context.Context, conn *pgx.Conn, err error) {
	if err != nil {
		l.sessions.judge(err)
	}
	if conn.IsClosed() {
		l.hosts.died(conn)
	}
	if cancel, limited := ctx.Value(limitKey{}).(context.CancelFunc); limited {
		cancel()
	}
}

// TraceQueryStart implements [pgx.QueryTracer].
func (limits) TraceQueryStart(ctx context.Context, _ *pgx.Conn, query pgx.TraceQueryStartData) context.Context {
	if patient(query.SQL) {
		return ctx
	}
	return limit(ctx)
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (l limits) TraceQueryEnd(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryEndData) {
	l.unlimit(ctx, conn, data.Err)
}

// TraceBatchStart implements [pgx.BatchTracer].
func (limits) TraceBatchStart(ctx context.Context, _ *pgx.Conn, batch pgx.TraceBatchStartData) context.Context {
	if slices.ContainsFunc(batch.Batch.QueuedQueries, func(q *pgx.QueuedQuery) bool { return patient(q.SQL) }) {
		return ctx
	}
	return limit(ctx)
}

// TraceBatchQuery implements [pgx.BatchTracer].
func (limits) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements [pgx.BatchTracer].
func (l limits) TraceBatchEnd(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchEndData) {
	l.unlimit(ctx, conn, data.Err)
}
