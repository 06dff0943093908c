package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
)

// AdminConfig holds what the admin handler is made of.
type AdminConfig struct {
	Gatherer prometheus.Gatherer
	Database func(context.Context) error // nil error: it answers
	Redis    func(context.Context) error // nil: there is none
	Logger   *slog.Logger
	Hosts    *Hosts // that may be asked for; nil: any
}

// readyTimeout bounds what a readiness probe waits for.
const readyTimeout = 2 * time.Second

// NewAdmin returns the admin handler: /metrics, /healthz, /readyz, /debug/pprof. It has no access control and
// shows internals, so it belongs on a listener that the public cannot reach. Of the profiles it leaves out the command
// line, which may hold passwords.
func NewAdmin(c AdminConfig) http.Handler {
	e := newEcho(c.Logger)
	e.Use(refuseOtherHosts(c.Hosts))
	c.probes(e)
	e.GET("/debug/pprof/*", echo.WrapHandler(http.HandlerFunc(pprof.Index)))
	e.GET("/debug/pprof/profile", echo.WrapHandler(http.HandlerFunc(pprof.Profile)))
	e.GET("/debug/pprof/symbol", echo.WrapHandler(http.HandlerFunc(pprof.Symbol)))
	e.GET("/debug/pprof/trace", echo.WrapHandler(http.HandlerFunc(pprof.Trace)))
	return e
}

type readiness struct {
	Database string `json:"database"`
	Redis    string `json:"redis"`
}

// ready is 200 while the database answers: without Redis the service is slower, not wrong.
func (c AdminConfig) ready(e echo.Context) error {
	ctx, cancel := context.WithTimeout(e.Request().Context(), readyTimeout)
	defer cancel()
	answer, status := readiness{Database: "ok", Redis: "none"}, http.StatusOK
	if err := c.Database(ctx); err != nil { // first: it alone decides, and Redis must not use up its time
		answer.Database, status = state(err), http.StatusServiceUnavailable
	}
	if c.Redis != nil {
		answer.Redis = state(c.Redis(ctx))
	}
	return e.JSON(status, answer)
}

func state(err error) string {
	if err != nil {
		return "unreachable" // the error may hold addresses and names
	}
	return "ok"
}
