package app

import (
	"bytes"
	"context"
	"errors"
	"log"
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

// The bounds of repeated failures. While a database is away every request fails, and would flood the log.
const (
	sampleFirst  = 10               // failures with one message that are logged at once
	sampleWithin = 10 * time.Second // and in this time; the others are counted
	sampleKinds  = 1000             // different messages
)

// quiet is a handler that keeps a log readable while much fails. Failures that an outage explains become details. Of others
// that repeat it logs a few, and then one line with the count of the rest. Lines below warnings pass.
type quiet struct {
	slog.Handler
	samples *samples
	outage  *outage
}

// samples is shared by a handler and the handlers made from it.
type samples struct {
	mu     sync.Mutex
	kinds  map[string]*sample // each by its message
	closed bool
}

// sample is one message within one window of time.
type sample struct {
	logged  int
	dropped int
	last    slog.Record  // the last line that was dropped
	to      slog.Handler // where last would have gone
	ends    *time.Timer  // logs the number of those dropped
}

// newQuiet returns a handler that passes lines to another one. Closing its samples logs what was dropped.
func newQuiet(to slog.Handler, outage *outage) quiet {
	return quiet{to, &samples{kinds: make(map[string]*sample)}, outage}
}

// Handle logs a line, or counts it.
func (q quiet) Handle(ctx context.Context, line slog.Record) error {
	if q.outage.explains(line) {
		if line.Level = slog.LevelDebug; !q.Enabled(ctx, line.Level) {
			return nil
		}
	}
	if line.Level >= slog.LevelWarn && q.samples.drop(line, q.Handler) {
		return nil
	}
	return q.Handler.Handle(ctx, line)
}

// WithAttrs returns a handler with attributes, which samples together with this one.
func (q quiet) WithAttrs(attributes []slog.Attr) slog.Handler {
	return quiet{q.Handler.WithAttrs(attributes), q.samples, q.outage}
}

// WithGroup returns a handler with a group, which samples together with this one.
func (q quiet) WithGroup(name string) slog.Handler {
	return quiet{q.Handler.WithGroup(name), q.samples, q.outage}
}

// drop counts a line, and reports whether enough lines with its message have been logged.
func (s *samples) drop(line slog.Record, to slog.Handler) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kinds[line.Message]
	if k == nil {
		if s.closed || len(s.kinds) >= sampleKinds {
			return false
		}
		k = &sample{}
		k.ends = time.AfterFunc(sampleWithin, func() { s.end(line.Message) })
		s.kinds[line.Message] = k
	}
	if k.logged < sampleFirst {
		k.logged++
		return false
	}
	k.dropped, k.last, k.to = k.dropped+1, line.Clone(), to
	return true
}

// end ends the window of a message.
func (s *samples) end(message string) {
	s.mu.Lock()
	defer s.mu.Unlock() // close waits until the line is logged
	if k := s.kinds[message]; k != nil {
		delete(s.kinds, message)
		k.flush()
	}
}

// flush logs the last of the lines that were dropped, and how many there were.
func (k *sample) flush() {
	if k.dropped == 0 {
		return
	}
	k.last.AddAttrs(slog.Int("repeated", k.dropped))
	_ = k.to.Handle(context.Background(), k.last) // there is nowhere else to report it
}

// close ends all windows. Later lines pass.
func (s *samples) close() {
	s.mu.Lock()
	kinds := s.kinds
	s.kinds, s.closed = nil, true
	s.mu.Unlock()
	for _, k := range kinds {
		k.ends.Stop()
		k.flush()
	}
}

const (
	outageLeast = 250 * time.Millisecond // a statement that had less was cut off by its caller, and not by a limit of ours
	outageOver  = time.Second            // without a failure; then an outage has ended with the next answer
	outageAfter = 2 * time.Second        // for this long after it requests may still fail that it has met
)

// outage knows from statements and connections whether PostgreSQL is there. It warns when an outage begins, reports its end, and
// keeps the failures of single requests meanwhile out of the log.
//
// An outage begins with a statement or a connection that fails. Where PostgreSQL hangs, requests that wait behind a statement may
// run out of time before it does. So it also begins with a request that runs out of time while PostgreSQL is silent.
type outage struct {
	warnings *warnings

	reporting sync.Mutex // held while its begin or its end is reported
	on        atomic.Bool
	failed    atomic.Int64 // when last, in Unix nanoseconds
	ended     atomic.Int64
	pending   atomic.Int64 // statements and connections that PostgreSQL has not answered
	heard     atomic.Int64 // when the first of them began, or when the last answer came, in Unix nanoseconds
}

func since(instant *atomic.Int64) time.Duration { return time.Since(time.Unix(0, instant.Load())) }

var (
	_ pgx.QueryTracer   = (*outage)(nil)
	_ pgx.BatchTracer   = (*outage)(nil)
	_ pgx.ConnectTracer = (*outage)(nil)
)

// watch makes an outage learn what becomes of the connections of a pool.
func (o *outage) watch(config *pgxpool.Config) {
	if config.ConnConfig.Tracer == nil {
		config.ConnConfig.Tracer = o
	} else {
		config.ConnConfig.Tracer = multitracer.New(o, config.ConnConfig.Tracer)
	}
}

// question is a statement or a connection that PostgreSQL has to answer.
type question struct {
	asked time.Time
	over  atomic.Bool // its end was counted: pgx may end a batch twice
}

type questionKey struct{}

// asked counts a statement or a connection that begins.
func (o *outage) asked(ctx context.Context) context.Context {
	if o.pending.Load() == 0 {
		o.heard.Store(time.Now().UnixNano())
	}
	o.pending.Add(1)
	return context.WithValue(ctx, questionKey{}, &question{asked: time.Now()})
}

// over counts a statement or a connection that has ended, and returns how long it took.
func (o *outage) over(ctx context.Context) (took time.Duration) {
	if q, is := ctx.Value(questionKey{}).(*question); is {
		if q.over.CompareAndSwap(false, true) {
			o.pending.Add(-1)
		}
		took = time.Since(q.asked)
	}
	return took
}

// silent reports whether PostgreSQL has been asked something, and has answered nothing for a time.
func (o *outage) silent() bool { return o.pending.Load() > 0 && since(&o.heard) >= outageOver }

// note takes the result of a statement.
func (o *outage) note(ctx context.Context, err error) {
	took := o.over(ctx)
	var refused *pgconn.PgError
	switch {
	case errors.Is(err, context.Canceled), pgconn.SafeToRetry(err): // who asked has gone, or nothing was asked
	case errors.Is(err, context.DeadlineExceeded) && took < outageLeast: // who asked had little time
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
	o.reporting.Lock()
	defer o.reporting.Unlock()
	if !o.on.Swap(true) {
		o.warnings.begin("database_fails", "PostgreSQL fails or does not answer in time; requests that need it get 503", "error", err)
	}
}

func (o *outage) answered() {
	o.heard.Store(time.Now().UnixNano())
	if !o.on.Load() {
		return
	}
	o.reporting.Lock()
	defer o.reporting.Unlock()
	if o.on.Load() && since(&o.failed) >= outageOver {
		o.ended.Store(time.Now().UnixNano())
		o.on.Store(false)
		o.warnings.end("database_fails")
	}
}

// explains reports whether an outage is the reason for a failure that is logged now.
func (o *outage) explains(line slog.Record) bool {
	if line.Level != slog.LevelWarn {
		return false
	}
	var unavailable error
	line.Attrs(func(a slog.Attr) bool {
		if a.Key == codeAttribute { // a warning, which is logged once
			unavailable = nil
			return false
		}
		if err, is := a.Value.Any().(error); is && stock.CodeOf(err) == stock.CodeUnavailable {
			unavailable = err
		}
		return true
	})
	switch {
	case unavailable == nil:
		return false
	case o.on.Load() || since(&o.ended) <= outageAfter:
		return true
	case errors.Is(unavailable, context.DeadlineExceeded) && o.silent():
		o.fail(unavailable)
		return true
	default:
		return false
	}
}

// TraceQueryStart implements [pgx.QueryTracer].
func (o *outage) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return o.asked(ctx)
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (o *outage) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	o.note(ctx, data.Err)
}

// TraceBatchStart implements [pgx.BatchTracer].
func (o *outage) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return o.asked(ctx)
}

// TraceBatchQuery implements [pgx.BatchTracer].
func (o *outage) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements [pgx.BatchTracer].
func (o *outage) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	o.note(ctx, data.Err)
}

// TraceConnectStart implements [pgx.ConnectTracer].
func (o *outage) TraceConnectStart(ctx context.Context, _ pgx.TraceConnectStartData) context.Context {
	return o.asked(ctx)
}

// TraceConnectEnd implements [pgx.ConnectTracer].
func (o *outage) TraceConnectEnd(ctx context.Context, data pgx.TraceConnectEndData) {
	o.over(ctx)
	if data.Err != nil && !errors.Is(data.Err, context.Canceled) {
		o.fail(data.Err)
	}
}

// serverLog takes the messages of net/http. It logs those of HTTP/2 and of handshakes, which any stranger can cause, at level
// debug: they would flood the log.
type serverLog struct{ to *slog.Logger }

func newServerLog(to *slog.Logger) *log.Logger { return log.New(serverLog{to}, "", 0) }

// Write logs a line.
func (l serverLog) Write(line []byte) (int, error) {
	level := slog.LevelWarn
	ofStrangers := bytes.HasPrefix(line, []byte("http2: ")) || bytes.HasPrefix(line, []byte("http: TLS handshake error"))
	if ofStrangers && !bytes.Contains(line, []byte("panic")) {
		level = slog.LevelDebug
	}
	l.to.Log(context.Background(), level, string(bytes.TrimSpace(line)))
	return len(line), nil
}
