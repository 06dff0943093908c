package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

func TestTracesWanted(t *testing.T) {
	t.Parallel()
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for name, c := range map[string]struct {
		environment map[string]string
		wanted      bool
		refused     string
	}{
		"nothing":            {map[string]string{}, false, ""},
		"a service name":     {map[string]string{"OTEL_SERVICE_NAME": "x", "OTEL_TRACES_EXPORTER": "otlp"}, false, ""},
		"an endpoint":        {map[string]string{endpoint: "http://c:4318"}, true, ""},
		"one for traces":     {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, true, ""},
		"its protocol":       {map[string]string{endpoint: "http://c:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, true, ""},
		"switched off":       {map[string]string{endpoint: "http://c:4318", "OTEL_SDK_DISABLED": "true"}, false, ""},
		"traces off":         {map[string]string{endpoint: "http://c:4318", "OTEL_TRACES_EXPORTER": "none"}, false, ""},
		"another exporter":   {map[string]string{endpoint: "http://c:4318", "OTEL_TRACES_EXPORTER": "zipkin"}, false, "zipkin"},
		"another protocol":   {map[string]string{endpoint: "http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, "grpc"},
		"that of the traces": {map[string]string{endpoint: "http://c:4318", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json"}, false, "http/json"},
	} {
		wanted, err := tracesWanted(func(name string) string { return c.environment[name] })
		if wanted != c.wanted || (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: wanted is %t, %v", name, wanted, err)
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
	var log strings.Builder
	refused := errors.New("refused")
	e := newExporter(&moodyExporter{errs: []error{nil, refused, refused, nil, nil}}, slog.New(slog.NewTextHandler(&log, nil)))
	defer e.abort()
	for range 5 {
		if err := e.ExportSpans(t.Context(), nil); err != nil {
			t.Errorf("the error went to OpenTelemetry: %v", err)
		}
	}
	if strings.Count(log.String(), "traces are lost") != 1 || strings.Count(log.String(), "takes traces again") != 1 {
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
