package api

import (
	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/contrib/instrumentation/github.com/labstack/echo/otelecho"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// traced gives every request a span, in the trace of its traceparent header if it has one.
func traced(provider trace.TracerProvider) echo.MiddlewareFunc {
	return otelecho.Middleware("inventory", otelecho.WithTracerProvider(provider),
		otelecho.WithPropagators(propagation.TraceContext{}))
}
