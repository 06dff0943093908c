package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
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
	Hosts    *Hosts       // the accepted hosts; nil: any
	Live     http.Handler // shows the process in a browser; nil: none
	// ProfileLimit is how long a profile may take, whatever its caller requests; 0: no limit.
	ProfileLimit time.Duration
}

// NewAdmin returns the admin handler: /metrics, /healthz, /readyz, /debug/pprof, /debug/statsviz. It has no access control and
// shows internals, so it belongs on a listener that the public cannot reach. It leaves out the profile of the command
// line, which may hold passwords.
func NewAdmin(c AdminConfig) http.Handler {
	e := newEcho(c.Logger)
	e.Use(refuseOtherHosts(c.Hosts))
	c.probes(e)
	e.GET("/debug/pprof/*", c.profile(pprof.Index))
	e.GET("/debug/pprof/profile", c.profile(pprof.Profile))
	e.GET("/debug/pprof/symbol", echo.WrapHandler(http.HandlerFunc(pprof.Symbol)))
	e.GET("/debug/pprof/trace", c.profile(pprof.Trace))
	if c.Live != nil {
		e.GET(livePath+"*", echo.WrapHandler(c.Live))
		e.GET(strings.TrimSuffix(livePath, "/"), func(c echo.Context) error { return c.Redirect(http.StatusPermanentRedirect, livePath) })
	}
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
