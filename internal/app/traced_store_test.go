package app

import (
	"context"
	"errors"
	"strings"
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

func (s failingStore) Share(_ string, batch stock.SharedBatch) bool {
	*s.inSpan = true // a shared write belongs to several spans
	if _, there := batch.Begin(); there {
		batch.Written(stock.BatchResult{}, false, errFailing)
	}
	return true
}

func (s failingStore) Merge(ctx context.Context, _ stock.Batch) (stock.BatchResult, error) {
	return stock.BatchResult{}, s.fail(ctx)
}

func (s failingStore) Settle(ctx context.Context, _ stock.Settlement) ([]stock.Settled, error) {
	return nil, s.fail(ctx)
}

// sharedBatch notes what it is told.
type sharedBatch struct {
	there bool
	told  error
}

func (b *sharedBatch) Begin() (stock.Batch, bool) { return stock.Batch{}, b.there }

func (b *sharedBatch) Written(_ stock.BatchResult, _ bool, err error) { b.told = err }

// TestABatchThatIsNotThereHasNoSpan: a shared write began, and its orders had gone.
func TestABatchThatIsNotThereHasNoSpan(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	s := traceStore(failingStore{inSpan: new(bool)}, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
	if !s.(stock.Sharer).Share("a", &sharedBatch{}) || len(spans.Started()) != 0 {
		t.Errorf("got spans %v, want none, and that it shares a write", spans.Started())
	}
	s = traceStore(struct{ stock.Store }{}, sdktrace.NewTracerProvider())
	if s.(stock.Sharer).Share("a", &sharedBatch{}) {
		t.Error("a batch shares a write in a store that is no sharer")
	}
}

// TestSharedWritesHaveSpans: each write that serves several requests is called in a span, which has its error.
func TestSharedWritesHaveSpans(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, call := range map[string]func(stock.Store) error{
		"batch": func(s stock.Store) error { _, err := s.Deduct(ctx, stock.Batch{}); return err },
		"shared batch": func(s stock.Store) error {
			b := &sharedBatch{there: true}
			if !s.(stock.Sharer).Share("a", b) {
				t.Error("a batch does not share a write")
			}
			return b.told
		},
		"merge":      func(s stock.Store) error { _, err := s.Merge(ctx, stock.Batch{}); return err },
		"settlement": func(s stock.Store) error { _, err := s.Settle(ctx, stock.Settlement{}); return err },
	} {
		var inSpan bool
		spans := tracetest.NewSpanRecorder()
		err := call(traceStore(failingStore{inSpan: &inSpan}, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))))
		ended := spans.Ended()
		if !errors.Is(err, errFailing) || !inSpan || len(ended) != 1 || ended[0].Name() != strings.TrimPrefix(name, "shared ") || ended[0].Status().Code != codes.Error {
			t.Errorf("%s: got %v, called in a span %v, spans %v, want one that has failed", name, err, inSpan, ended)
		}
	}
}
