package api_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"inventory/internal/api"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// contextStore keeps the context of a read.
type contextStore struct {
	brokenStore
	last context.Context
}

func (s *contextStore) Status(ctx context.Context, _ string, _ time.Time) (stock.Status, error) {
	s.last = ctx
	return stock.Status{}, s.err
}

// TestTracesThatAreOffCostNothing counts the allocations of a request: with traces that drop every span they are far more
// than without traces.
func TestTracesThatAreOffCostNothing(t *testing.T) {
	store := &contextStore{brokenStore: brokenStore{err: &stock.Error{Code: stock.CodeUnknownSKU}}}
	service := selling.NewService(selling.Config{Store: store})
	t.Cleanup(func() {
		if err := service.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	allocations := func(traces trace.TracerProvider) float64 {
		handler := api.New(api.Config{
			Service: service, Metrics: api.NewMetrics(prometheus.NewRegistry()), Logger: slog.New(slog.DiscardHandler), Traces: traces,
		})
		return testing.AllocsPerRun(200, func() {
			handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/v1/skus/a", nil))
		})
	}
	off := allocations(nil)
	if trace.SpanFromContext(store.last) != trace.SpanFromContext(t.Context()) {
		t.Error("without traces a request has a span")
	}
	dropping := allocations(sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())))
	t.Logf("a request allocates %.0f times without traces, %.0f times with traces that are all dropped", off, dropping)
	if dropping < off+10 {
		t.Error("without traces a request pays for them")
	}
}
