package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/multitracer"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/stock"
)

const (
	outageOver  = time.Second     // without a failure; then an outage has ended with the next answer
	outageAfter = 2 * time.Second // for this long after it requests may still fail that it has met
)

// outage knows from statements and connections whether PostgreSQL is there. It tells when an outage begins and when it ends, and
// keeps the failures of single requests meanwhile out of the log.
type outage struct {
	warnings *warnings

	telling sync.Mutex // held while its begin or its end is told
	on      atomic.Bool
	failed  atomic.Int64 // when last, in Unix nanoseconds
	ended   atomic.Int64
}

func since(instant *atomic.Int64) time.Duration { return time.Since(time.Unix(0, instant.Load())) }

var (
	_ pgx.QueryTracer   = (*outage)(nil)
	_ pgx.BatchTracer   = (*outage)(nil)
	_ pgx.ConnectTracer = (*outage)(nil)
)

// watch makes the connections of a pool tell what becomes of them.
func (o *outage) watch(config *pgxpool.Config) {
	if config.ConnConfig.Tracer == nil {
		config.ConnConfig.Tracer = o
	} else {
		config.ConnConfig.Tracer = multitracer.New(o, config.ConnConfig.Tracer)
	}
}

// note takes the result of a statement.
func (o *outage) note(err error) {
	var refused *pgconn.PgError
	switch {
	case errors.Is(err, context.Canceled): // who asked has gone
	case err == nil, errors.As(err, &refused) && !isAway(refused.Code):
		o.answered()
	default:
		o.fail(err)
	}
}

// isAway reports whether a SQLSTATE says that the server ends, starts, has lost the connection or takes no more of them.
func isAway(state string) bool {
	return strings.HasPrefix(state, "57P") || strings.HasPrefix(state, "08") || state == "53300"
}

func (o *outage) fail(err error) {
	o.failed.Store(time.Now().UnixNano())
	o.telling.Lock()
	defer o.telling.Unlock()
	if !o.on.Swap(true) {
		o.warnings.begin("database_fails", "PostgreSQL fails or does not answer in time; requests that need it get 503", "error", err)
	}
}

func (o *outage) answered() {
	if !o.on.Load() {
		return
	}
	o.telling.Lock()
	defer o.telling.Unlock()
	if o.on.Load() && since(&o.failed) >= outageOver {
		o.ended.Store(time.Now().UnixNano())
		o.on.Store(false)
		o.warnings.end("database_fails")
	}
}

// explains reports whether an outage is the reason for a failure that is logged now.
func (o *outage) explains(line slog.Record) bool {
	if line.Level != slog.LevelWarn || !o.on.Load() && since(&o.ended) > outageAfter {
		return false
	}
	unavailable := false
	line.Attrs(func(a slog.Attr) bool {
		if a.Key == codeAttribute { // a warning, which is logged once
			unavailable = false
			return false
		}
		err, is := a.Value.Any().(error)
		unavailable = unavailable || is && stock.CodeOf(err) == stock.CodeUnavailable
		return true
	})
	return unavailable
}

// TraceQueryStart implements [pgx.QueryTracer].
func (o *outage) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (o *outage) TraceQueryEnd(_ context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	o.note(data.Err)
}

// TraceBatchStart implements [pgx.BatchTracer].
func (o *outage) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

// TraceBatchQuery implements [pgx.BatchTracer].
func (o *outage) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements [pgx.BatchTracer].
func (o *outage) TraceBatchEnd(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	o.note(data.Err)
}

// TraceConnectStart implements [pgx.ConnectTracer].
func (o *outage) TraceConnectStart(ctx context.Context, _ pgx.TraceConnectStartData) context.Context {
	return ctx
}

// TraceConnectEnd implements [pgx.ConnectTracer].
func (o *outage) TraceConnectEnd(_ context.Context, data pgx.TraceConnectEndData) {
	if data.Err != nil && !errors.Is(data.Err, context.Canceled) {
		o.fail(data.Err)
	}
}

// outageHandler passes lines on, those that an outage explains as details.
type outageHandler struct {
	slog.Handler
	outage *outage
}

// Handle implements [slog.Handler].
func (h outageHandler) Handle(ctx context.Context, line slog.Record) error {
	if h.outage.explains(line) {
		if line.Level = slog.LevelDebug; !h.Enabled(ctx, line.Level) {
			return nil
		}
	}
	return h.Handler.Handle(ctx, line)
}

// WithAttrs implements [slog.Handler].
func (h outageHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	return outageHandler{h.Handler.WithAttrs(attributes), h.outage}
}

// WithGroup implements [slog.Handler].
func (h outageHandler) WithGroup(name string) slog.Handler {
	return outageHandler{h.Handler.WithGroup(name), h.outage}
}
