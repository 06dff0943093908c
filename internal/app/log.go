package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/multitracer"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/selling"
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
	outageOver  = time.Second     // without a failure; then an outage has ended with the next answer
	outageAfter = 2 * time.Second // for this long after it requests may still fail that it has met
)

// outage knows from statements and connections whether PostgreSQL is there. It warns when an outage begins, reports its end, and
// keeps the failures of single requests meanwhile out of the log.
type outage struct {
	warnings *warnings

	reporting sync.Mutex // held while its begin or its end is reported
	on        atomic.Bool
	failed    atomic.Int64 // when last, in Unix nanoseconds
	ended     atomic.Int64
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
	o.reporting.Lock()
	defer o.reporting.Unlock()
	if !o.on.Swap(true) {
		o.warnings.begin("database_fails", "PostgreSQL fails or does not answer in time; requests that need it get 503", "error", err)
	}
}

func (o *outage) answered() {
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

// codeAttribute is what the log calls the code of a warning.
const codeAttribute = "code"

// warnings are what works less well than it should and what an operator can change: a setting of a server, a right that is
// missing. Each stands in the log once, when it begins, and in /readyz while it holds.
type warnings struct {
	log *slog.Logger

	mu      sync.Mutex
	current map[string]string // the text of each, by its code
}

func newWarnings(log *slog.Logger) *warnings {
	return &warnings{log: log, current: make(map[string]string)}
}

// begin adds a warning. The code is what programs read; the text says in one line what to do, and is seen by whoever reads
// /readyz, so it holds no addresses or names. The details are for the log alone.
func (w *warnings) begin(code, text string, details ...any) {
	w.mu.Lock()
	_, before := w.current[code]
	w.current[code] = text
	w.mu.Unlock()
	if !before {
		w.log.Warn(text, append([]any{codeAttribute, code}, details...)...)
	}
}

// end removes a warning whose cause has gone.
func (w *warnings) end(code string) {
	w.mu.Lock()
	text, before := w.current[code]
	delete(w.current, code)
	w.mu.Unlock()
	if before {
		w.log.Info("no longer so: "+text, codeAttribute, code)
	}
}

// list returns the text of each current warning, by its code.
func (w *warnings) list() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.current)
}

// noticesPatience is for how long notifications may fail while PostgreSQL is there, until a warning begins.
const noticesPatience = 3 * time.Second

// noticesObserver warns when notifications of restocks do not arrive. In an outage of PostgreSQL none do.
type noticesObserver struct {
	selling.Observer
	warnings *warnings
	outage   *outage

	mu    sync.Mutex
	since time.Time // when they began to fail beside any outage; zero: they work
}

// NotificationsFail implements [selling.Observer].
func (o *noticesObserver) NotificationsFail(err error) {
	o.Observer.NotificationsFail(err)
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	switch {
	case err == nil:
		o.since = time.Time{}
		o.warnings.end("notices_failing")
	case errors.Is(err, postgres.ErrDeaf):
		o.warnings.begin("notices_failing", "no notifications of restocks, which are noticed within a second: "+
			"give --direct-url, which leads past the pooler to the same database", "error", err)
	case o.outage.on.Load() || o.since.IsZero():
		o.since = now
	case now.Sub(o.since) >= noticesPatience:
		o.warnings.begin("notices_failing", "no notifications of restocks, which are noticed within a second: "+
			"the service needs one connection more to PostgreSQL", "error", err)
	}
}

// refuseCluster refuses a node of a Redis Cluster: it holds the locks of some SKUs only.
func (s redisServers) refuseCluster(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	for _, server := range s {
		if _, cluster := server.client.(*redis.ClusterClient); cluster {
			continue
		}
		info, err := server.client.ClusterInfo(ctx).Result()
		if err == nil && !strings.Contains(info, "cluster_size:1\r\n") { // an error: not a cluster, or unknown
			return fmt.Errorf("redis URL: %s is a node of a Redis Cluster, which keeps the locks of some SKUs alone; "+
				"name the cluster: redis+cluster://HOST:PORT,HOST:PORT", server.address)
		}
	}
	return nil
}

// warnOfPooler warns of what a session lacks because a pooler may give it to others.
func (a *App) warnOfPooler(store stock.Store) {
	if pg, is := store.(*postgres.Store); is && len(pg.Dropped()) > 0 {
		a.warnings.begin("pooler_settings", "the pooler shares connections, so sessions cannot limit themselves: ALTER ROLE … "+
			strings.Join(pg.Dropped(), ", ")+", and have the pooler reconnect")
	}
}

// logFailures logs what does not work at the start. The service starts anyway: it sells without locks, and later a
// replica may be promoted, or a disk may get space again.
func (a *App) logFailures(ctx context.Context, servers redisServers) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	if err := a.store.Ready(ctx); err != nil {
		a.config.Logger.Warn("the database cannot be written to; the service is not ready", "error", err)
	}
	for _, server := range servers {
		if _, cluster := server.client.(*redis.ClusterClient); cluster {
			continue // the client finds its masters
		}
		role, err := server.client.Do(ctx, "ROLE").Slice()
		if err == nil && len(role) > 0 && role[0] == "slave" {
			a.config.Logger.Warn("a Redis server is a replica, which gives no locks unless it becomes the master",
				"redis", server.address)
		}
	}
	_ = a.service.CheckLocks() // the service logs that they fail
}

// warnOfPlatform says what the service lacks on a system. Files are locked everywhere.
func (a *App) warnOfPlatform(system string) {
	if system == "windows" {
		a.warnings.begin("platform", "on Windows keys and certificates are read again at a restart only, and a caller that hangs up is noticed later: use Linux for production")
	}
}
