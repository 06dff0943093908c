// Package api is the HTTP interface of the service: routes, request types, errors as problem+json, metrics.
//
// openapi.yaml is the contract and comes first: it is served at /openapi.yaml, the Go client in the client folder
// is generated from it, and the tests hold every answer against it.
//
// There are two handlers, for two listeners: the public one for buyers, and the admin one, which has metrics, health and
// profiles and is not for the public.
package api

import (
	"cmp"
	"context"
	_ "embed"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"go.opentelemetry.io/otel/trace"

	"inventory/internal/access"
	"inventory/internal/events"
	"inventory/internal/stock/selling"
	"inventory/internal/turns"
)

//go:embed openapi.yaml
var document []byte

// Limits of a request.
const (
	maxBodyBytes   = 16 << 10         // of all bodies but the two below; every field fits, however it is escaped
	maxOrderBytes  = 128 << 10        // of an order of several SKUs: stock.MaxLines with the longest SKUs fit
	maxManyBytes   = 512 << 10        // of many deductions: stock.MaxOrders with the longest ids fit
	requestTimeout = 15 * time.Second // for requests that only read
)

// Config holds what the public handler is made of.
type Config struct {
	Service *selling.Service
	Events  *events.Hub
	Metrics *Metrics
	Logger  *slog.Logger
	Guard   *access.Guard   // nil: everybody may do everything
	Limiter *access.Limiter // nil: no limit
	// Strangers counts callers without a credential, or with a bad one, by address; nil: none.
	Strangers *access.Limiter
	Proxies   *Proxies // that are believed; nil: none
	Hosts     *Hosts   // the accepted hosts; nil: any
	Streams   Streams
	// AnswerWithin is the time from when a request was read until nothing is written for it; 0 is
	// selling.DefaultAnswerWithin.
	AnswerWithin time.Duration
	Traces       trace.TracerProvider // nil: none
}

// server holds what the handlers of the routes need.
type server struct {
	service   *selling.Service
	events    *events.Hub
	metrics   *Metrics
	log       *slog.Logger
	guard     guard // nil: everybody may do everything
	limiter   *access.Limiter
	strangers *access.Limiter
	hosts     *Hosts
	origins   http.CrossOriginProtection
	streams   Streams
	// answerWithin is the time from when a request was read until nothing is written for it.
	answerWithin time.Duration
	reading      *turns.Turns // of bodies above maxBodyBytes
	buffers      sync.Pool    // of *[]byte, for bodies
}

// New returns the public handler.
func New(c Config) http.Handler { return withRequestID(unsniffed(c.Proxies.behind(newPublic(c)))) }

func newPublic(c Config) *echo.Echo {
	s := &server{
		service: c.Service, events: c.Events, metrics: c.Metrics, log: c.Logger, limiter: c.Limiter, strangers: c.Strangers, hosts: c.Hosts,
		streams: c.Streams.withDefaults(), answerWithin: cmp.Or(c.AnswerWithin, selling.DefaultAnswerWithin),
	}
	if c.Guard != nil {
		s.guard = c.Guard
	}
	s.reading = newReading()
	s.buffers.New = func() any { return new([]byte) }
	e := newEcho(s.log)
	e.Use(c.Metrics.observe)
	if c.Traces != nil {
		e.Use(traced(c.Traces))
	}
	e.Use(s.recoverer())
	e.Use(s.admitUnrouted)
	s.register(e, s.routes())
	return e
}

// recoverer turns a panic of a handler into an error, and logs its origin.
func (s *server) recoverer() echo.MiddlewareFunc {
	return middleware.RecoverWithConfig(middleware.RecoverConfig{
		DisableStackAll:     true,
		DisableErrorHandler: true, // observe sends the answer, and counts
		LogErrorFunc: func(c echo.Context, err error, stack []byte) error {
			s.log.Error("a handler panicked", "route", c.Path(), "request_id", requestID(c), "error", err, "stack", string(stack))
			return err
		},
	})
}

func newEcho(log *slog.Logger) *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.HTTPErrorHandler = func(err error, c echo.Context) { sendProblem(c, log, err) }
	return e
}

// timed ends a request's context after requestTimeout.
func timed(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
		defer cancel()
		c.SetRequest(r.WithContext(ctx))
		return next(c)
	}
}
