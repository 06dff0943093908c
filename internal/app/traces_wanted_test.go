package app

import (
	"context"
	"errors"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"inventory/internal/busytest"
)

func TestTracesWanted(t *testing.T) {
	t.Parallel()
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for name, c := range map[string]struct {
		environment map[string]string
		wanted      bool
	}{
		"nothing":        {map[string]string{}, false},
		"a service name": {map[string]string{"OTEL_SERVICE_NAME": "x", "OTEL_TRACES_EXPORTER": "otlp"}, false},
		"an endpoint":    {map[string]string{endpoint: "http://c:4318"}, true},
		"one for traces": {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, true},
		"switched off":   {map[string]string{endpoint: "http://c:4318", "OTEL_SDK_DISABLED": "true"}, false},
		"traces off":     {map[string]string{endpoint: "http://c:4318", "OTEL_TRACES_EXPORTER": "none"}, false},
	} {
		if wanted := tracesWanted(func(name string) string { return c.environment[name] }); wanted != c.wanted {
			t.Errorf("%s: wanted is %t", name, wanted)
		}
	}
}

// moodyExporter fails a given number of times.
type moodyExporter struct {
	sdktrace.SpanExporter
	errs []error
}

func (m *moodyExporter) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) (err error) {
	err, m.errs = m.errs[0], m.errs[1:]
	return err
}

func TestLostTracesAreLoggedOnce(t *testing.T) {
	t.Parallel()
	var log busytest.Log
	refused := errors.New("refused")
	e := exporter{&moodyExporter{errs: []error{nil, refused, refused, nil, nil}}, newWarnings(log.Logger())}
	for range 5 {
		if err := e.ExportSpans(t.Context(), nil); err != nil {
			t.Errorf("the error went to OpenTelemetry: %v", err)
		}
	}
	if strings.Count(log.String(), "level=WARN") != 1 || strings.Count(log.String(), "level=INFO") != 1 {
		t.Errorf("the log says %s", log.String())
	}
}

func TestStatementName(t *testing.T) {
	t.Parallel()
	for statement, want := range map[string]string{
		"SELECT 1": "SELECT", "\n\nselect 1": "SELECT", "-- why\n--\nWITH x AS (": "WITH", "": "statement", "-- nothing": "statement",
	} {
		if got := statementName(statement); got != want {
			t.Errorf("%q is named %q, want %q", statement, got, want)
		}
	}
}
