package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/singleflight"

	"inventory/internal/stock"
)

// AdminConfig holds what the admin handler is made of.
type AdminConfig struct {
	Gatherer prometheus.Gatherer
	Database func(context.Context) error // a nil error: it takes writes
	// Nodes returns, by the address of each node of the database, the error of its last check by Database; nil: it has no
	// nodes.
	Nodes func() map[string]error
	// Warnings returns the text of each warning that holds now, by its code; nil: there are none.
	Warnings func() map[string]string
	Redis    func(context.Context) error // a nil error: it answers; nil: there is none
	Locks    func(context.Context) error // a nil error: they work; nil: there are none
	Stopping func() bool                 // reports whether the service is about to end; nil: it is not
	Logger   *slog.Logger
	Hosts    *Hosts // the accepted hosts; nil: any
	// ProfileLimit is how long a profile may take, whatever its caller requests; 0: no limit.
	ProfileLimit time.Duration
}

// NewAdmin returns the admin handler: /metrics, /healthz, /readyz, /debug/pprof. It has no access control and
// shows internals, so it belongs on a listener that the public cannot reach. It leaves out the profile of the command
// line, which may hold passwords.
func NewAdmin(c AdminConfig) http.Handler {
	e := c.probes()
	e.GET("/debug/pprof/*", c.profile(pprof.Index))
	e.GET("/debug/pprof/profile", c.profile(pprof.Profile))
	e.GET("/debug/pprof/symbol", echo.WrapHandler(http.HandlerFunc(pprof.Symbol)))
	e.GET("/debug/pprof/trace", c.profile(pprof.Trace))
	return unsniffed(e)
}

// profile ends a profile at the limit. pprof itself puts off the end of its answer by as much as its caller asks for.
func (c AdminConfig) profile(handler http.HandlerFunc) echo.HandlerFunc {
	return func(e echo.Context) error {
		r := e.Request()
		if c.ProfileLimit > 0 {
			ctx, cancel := context.WithTimeout(r.Context(), c.ProfileLimit)
			defer cancel()
			r = r.WithContext(ctx)
		}
		handler(e.Response(), r)
		return nil
	}
}

// NewProbes returns the handler for Prometheus and an orchestrator: /metrics, /healthz and /readyz. It has no access
// control. Unlike NewAdmin it has nothing that slows the service down or shows its internals, so not only operators may
// reach it.
func NewProbes(c AdminConfig) http.Handler { return unsniffed(c.probes()) }

func (c AdminConfig) probes() *echo.Echo {
	e := newEcho(c.Logger)
	e.Use(refuseOtherHosts(c.Hosts))
	e.GET("/metrics", echo.WrapHandler(promhttp.HandlerFor(c.Gatherer, promhttp.HandlerOpts{})))
	e.GET("/healthz", func(c echo.Context) error { return c.String(http.StatusOK, "ok\n") })
	e.GET("/readyz", c.readyHandler())
	return e
}

const (
	readyTimeout = 2 * time.Second        // for the database
	redisTimeout = 500 * time.Millisecond // for Redis and for locks: a probe must not fail because they hang
	readyFor     = time.Second            // for that long later probes get the same answer
)

// readiness has "ok" for each thing that the service depends on, or what is wrong: "unreachable", "not_writable" or "failing".
// "none" means that the service does without it.
type readiness struct {
	Database string `json:"database"`
	Redis    string `json:"redis"`
	Locks    string `json:"locks"`
	// Nodes are those of a database that has several: while one of them takes writes, the database is "ok".
	Nodes map[string]string `json:"nodes,omitempty"`
	// Warnings are what works less well than it should, by code. They do not make the service unready.
	Warnings map[string]string `json:"warnings,omitempty"`
}

// leaving is the answer of a service that stops. It checks nothing, so it comes at once.
type leaving struct {
	Stopping bool `json:"stopping"`
}

// readyHandler answers 200 while the database takes writes: without Redis the service is slower, not wrong. A service
// that stops is not ready.
func (c AdminConfig) readyHandler() echo.HandlerFunc {
	database := &recent{ask: c.Database, limit: readyTimeout}
	redis := &recent{ask: c.Redis, limit: redisTimeout}
	locks := &recent{ask: c.Locks, limit: redisTimeout}
	return func(e echo.Context) error {
		if c.Stopping != nil && c.Stopping() {
			return e.JSON(http.StatusServiceUnavailable, leaving{Stopping: true})
		}
		ctx, answer := e.Request().Context(), readiness{}
		var asked sync.WaitGroup
		asked.Go(func() { answer.Database = state(database.answer(ctx), "unreachable") })
		asked.Go(func() { answer.Redis = state(redis.answer(ctx), "unreachable") })
		asked.Go(func() { answer.Locks = state(locks.answer(ctx), "failing") })
		asked.Wait()
		answer.Nodes = c.nodeStates()
		if c.Warnings != nil {
			answer.Warnings = c.Warnings()
		}
		if answer.Database != "ok" {
			return e.JSON(http.StatusServiceUnavailable, answer)
		}
		return e.JSON(http.StatusOK, answer)
	}
}

// nodeStates returns the readiness of each node, in the words for a database.
func (c AdminConfig) nodeStates() map[string]string {
	if c.Nodes == nil {
		return nil
	}
	states := make(map[string]string)
	for address, err := range c.Nodes() {
		states[address] = state(err, "unreachable")
	}
	return states
}

// state returns a word without the error's text, which may hold addresses and names.
func state(err error, bad string) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, errNone):
		return "none"
	case errors.Is(err, stock.ErrNotWritable):
		return "not_writable"
	default:
		return bad
	}
}

var (
	errNone = errors.New("there is none")
	errSlow = errors.New("no answer in time")
)

// recent is a check that is not free. Frequent probes share its results, and it does not start again while it hangs.
type recent struct {
	ask    func(context.Context) error // nil: there is none
	limit  time.Duration
	asking singleflight.Group
	last   atomic.Pointer[checked]
}

type checked struct {
	at  time.Time
	err error
}

func (r *recent) answer(ctx context.Context) error {
	if r.ask == nil {
		return errNone
	}
	if last := r.last.Load(); last != nil && time.Since(last.at) < readyFor {
		return last.err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.limit, errSlow)
	defer cancel()
	// It goes on when its first caller leaves: others wait for it.
	answer := r.asking.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.limit)
		defer cancel()
		err := r.ask(ctx)
		r.last.Store(&checked{time.Now(), err})
		return nil, err
	})
	select {
	case a := <-answer:
		return a.Err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
