package app

import (
	"context"
	"errors"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"inventory/internal/stock"
)

var errFailing = errors.New("it fails")

// failingStore fails at what is traced, and looks whether it is called in a span.
type failingStore struct {
	stock.Store
	inSpan *bool
}

func (s failingStore) fail(ctx context.Context) error {
	*s.inSpan = trace.SpanContextFromContext(ctx).IsValid()
	return errFailing
}

func (s failingStore) Deduct(ctx context.Context, _ stock.Batch) (stock.BatchResult, error) {
	return stock.BatchResult{}, s.fail(ctx)
}

func (s failingStore) Merge(ctx context.Context, _ stock.Batch) (stock.BatchResult, error) {
	return stock.BatchResult{}, s.fail(ctx)
}

func (s failingStore) Settle(ctx context.Context, _ stock.Settlement) ([]stock.Settled, error) {
	return nil, s.fail(ctx)
}

// TestSharedWritesHaveSpans: each write that serves several requests is called in a span, which has its error.
func TestSharedWritesHaveSpans(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, call := range map[string]func(stock.Store) error{
		"batch":      func(s stock.Store) error { _, err := s.Deduct(ctx, stock.Batch{}); return err },
		"merge":      func(s stock.Store) error { _, err := s.Merge(ctx, stock.Batch{}); return err },
		"settlement": func(s stock.Store) error { _, err := s.Settle(ctx, stock.Settlement{}); return err },
	} {
		var inSpan bool
		spans := tracetest.NewSpanRecorder()
		err := call(traceStore(failingStore{inSpan: &inSpan}, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))))
		ended := spans.Ended()
		if !errors.Is(err, errFailing) || !inSpan || len(ended) != 1 || ended[0].Name() != name || ended[0].Status().Code != codes.Error {
			t.Errorf("%s: got %v, called in a span %v, spans %v, want one that has failed", name, err, inSpan, ended)
		}
	}
}
