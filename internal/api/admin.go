package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

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
	return e
}

// profile refuses pages of other sites, and ends a profile at the limit. pprof itself puts off the end of its answer by as much as its
// caller asks for.
func (c AdminConfig) profile(handler http.HandlerFunc) echo.HandlerFunc {
	return func(e echo.Context) error {
		r := e.Request()
		if err := refuseForeign(r); err != nil {
			return err
		}
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
func NewProbes(c AdminConfig) http.Handler { return c.probes() }

func (c AdminConfig) probes() *echo.Echo {
	e := newEcho(c.Logger)
	e.Use(echo.WrapMiddleware(c.Hosts.OnThisMachine), middleware.SecureWithConfig(middleware.SecureConfig{ContentTypeNosniff: nosniff}))
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

// readyHandler answers 200 while the database takes writes: without Redis the service is slower, not wrong. A service
// that stops is not ready. The checks are not free: frequent probes share their results.
func (c AdminConfig) readyHandler() echo.HandlerFunc {
	var mu sync.Mutex
	var last readiness
	var until time.Time
	return func(e echo.Context) error {
		if c.Stopping != nil && c.Stopping() {
			return e.JSON(http.StatusServiceUnavailable, map[string]bool{"stopping": true}) // at once, since it checks nothing
		}
		mu.Lock()
		if time.Now().After(until) {
			last = c.check(context.WithoutCancel(e.Request().Context())) // for later probes too
			until = time.Now().Add(readyFor)
		}
		answer := last
		mu.Unlock()
		if answer.Database != "ok" {
			return e.JSON(http.StatusServiceUnavailable, answer)
		}
		return e.JSON(http.StatusOK, answer)
	}
}

// check asks all that the service depends on.
func (c AdminConfig) check(ctx context.Context) (answer readiness) {
	var asked sync.WaitGroup
	ask := func(state *string, check func(context.Context) error, limit time.Duration, bad string) {
		asked.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			if *state = "none"; check != nil {
				*state = stateOf(check(ctx), bad)
			}
		})
	}
	ask(&answer.Database, c.Database, readyTimeout, "unreachable")
	ask(&answer.Redis, c.Redis, redisTimeout, "unreachable")
	ask(&answer.Locks, c.Locks, redisTimeout, "failing")
	asked.Wait()
	if c.Nodes != nil {
		answer.Nodes = make(map[string]string)
		for address, err := range c.Nodes() {
			answer.Nodes[address] = stateOf(err, "unreachable")
		}
	}
	if c.Warnings != nil {
		answer.Warnings = c.Warnings()
	}
	return answer
}

// stateOf returns a word without the error's text, which may hold addresses and names.
func stateOf(err error, bad string) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, stock.ErrNotWritable):
		return "not_writable"
	default:
		return bad
	}
}
