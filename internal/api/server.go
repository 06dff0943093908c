// Package api is the HTTP face of the service: routes, request types, errors as problem+json, metrics.
//
// openapi.yaml is the contract and comes first: it is served at /openapi.yaml, the Go client in the client folder
// is generated from it, and the tests hold every answer against it.
//
// There are two handlers, for two listeners: the public one of the buyers, and the admin one, which has metrics,
// health and profiles and is not for the public.
package api

import (
	"context"
	_ "embed"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"inventory/internal/stock"
)

//go:embed openapi.yaml
var document []byte

// Limits of a request.
const (
	maxBodyBytes   = 64 << 10
	requestTimeout = 15 * time.Second // after this the caller is told that the outcome is not known
)

// Config holds what the public handler is made of.
type Config struct {
	Service *stock.Service
	Metrics *Metrics
	Logger  *slog.Logger
}

// server holds what the handlers of the routes need.
type server struct {
	service *stock.Service
	log     *slog.Logger
	buffers sync.Pool // of *[]byte, for bodies
}

// New returns the public handler.
func New(c Config) http.Handler {
	s := &server{service: c.Service, log: c.Logger}
	s.buffers.New = func() any { return new([]byte) }
	e := newEcho(s.log)
	e.Use(c.Metrics.observe, middleware.RecoverWithConfig(middleware.RecoverConfig{DisableStackAll: true, LogErrorFunc: s.notePanic}))
	e.POST("/v1/skus/:sku/deductions", s.deduct) // its lane keeps the time

	bound := []echo.MiddlewareFunc{timed}
	e.GET("/openapi.yaml", serveDocument, bound...)
	e.PUT("/v1/skus/:sku", s.createSKU, bound...)
	e.GET("/v1/skus/:sku", s.readSKU, bound...)
	e.GET("/v1/skus/:sku/deductions/:order_id", s.readDeduction, bound...)
	e.POST("/v1/skus/:sku/deductions/:order_id/commit", s.commit, bound...)
	e.POST("/v1/skus/:sku/deductions/:order_id/cancel", s.cancel, bound...)
	e.POST("/v1/orders", s.placeOrder, bound...)
	e.POST("/v1/skus/:sku/restock", s.restock, bound...)
	e.POST("/v1/skus/:sku/adjust", s.adjust, bound...)
	e.POST("/v1/skus/:sku/resegment", s.resegment, bound...)
	e.GET("/v1/skus/:sku/movements", s.readMovements, bound...)
	e.GET("/v1/skus/:sku/audit", s.auditSKU, bound...)
	e.GET("/v1/audit", s.audit, bound...)
	return e
}

// notePanic logs a bug that ended a request. Its caller is told that the outcome is not known.
func (s *server) notePanic(c echo.Context, err error, stack []byte) error {
	s.log.Error("handler panicked", "method", c.Request().Method, "route", c.Path(), "error", err, "stack", string(stack))
	return err
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

func serveDocument(c echo.Context) error {
	return c.Blob(http.StatusOK, "application/yaml", document)
}
