package api

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// NewProbes returns the handler for Prometheus and an orchestrator: /metrics, /healthz and /readyz. It has no access
// control. Unlike NewAdmin it has nothing that slows the service down or shows its internals, so not only operators may
// reach it.
func NewProbes(c AdminConfig) http.Handler {
	e := newEcho(c.Logger)
	e.Use(refuseOtherHosts(c.Hosts))
	c.probes(e)
	return unsniffed(e)
}

func (c AdminConfig) probes(e *echo.Echo) {
	e.GET("/metrics", echo.WrapHandler(promhttp.HandlerFor(c.Gatherer, promhttp.HandlerOpts{})))
	e.GET("/healthz", func(c echo.Context) error { return c.String(http.StatusOK, "ok\n") })
	e.GET("/readyz", c.readyHandler())
}
