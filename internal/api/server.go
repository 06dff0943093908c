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
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"inventory/internal/stock"
)

//go:embed openapi.yaml
var document []byte

// Limits of a request.
const (
	maxBody        = "64K"
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
}

// New returns the public handler.
func New(c Config) http.Handler {
	s := &server{service: c.Service, log: c.Logger}
	e := newEcho(s.log)
	e.Use(c.Metrics.observe, middleware.Recover(), middleware.BodyLimit(maxBody), bounded)
	e.GET("/openapi.yaml", serveDocument)
	e.PUT("/v1/skus/:sku", s.createSKU)
	e.GET("/v1/skus/:sku", s.readSKU)
	e.POST("/v1/skus/:sku/deductions", s.deduct)
	e.GET("/v1/skus/:sku/deductions/:order_id", s.readDeduction)
	e.POST("/v1/skus/:sku/restock", s.restock)
	return e
}

func newEcho(log *slog.Logger) *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.HTTPErrorHandler = func(err error, c echo.Context) { sendProblem(c, log, err) }
	return e
}

// bounded ends a request's context after requestTimeout.
func bounded(next echo.HandlerFunc) echo.HandlerFunc {
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
