package app

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"inventory/internal/stock"
)

// tracedStore gives every batch of a worker a span. A batch serves many requests and belongs to none of their spans.
// All other calls are made for one request, in its context.
type tracedStore struct {
	stock.Store
	tracer trace.Tracer
}

// Deduct implements [stock.Store].
func (s tracedStore) Deduct(ctx context.Context, batch stock.Batch) (stock.BatchResult, error) {
	ctx, span := s.tracer.Start(ctx, "batch", trace.WithAttributes(
		attribute.String("inventory.sku", batch.SKU),
		attribute.Int("inventory.segment", batch.Segment),
		attribute.Int("inventory.orders", len(batch.Orders)),
		attribute.Bool("inventory.locked", batch.Fence.Token != 0),
	))
	result, err := s.Store.Deduct(ctx, batch)
	end(span, err)
	return result, err
}

// Merge implements [stock.Store].
func (s tracedStore) Merge(ctx context.Context, merge stock.Merge) (stock.MergeResult, error) {
	ctx, span := s.tracer.Start(ctx, "merge", trace.WithAttributes(
		attribute.String("inventory.sku", merge.SKU),
		attribute.Int("inventory.orders", len(merge.Orders)),
		attribute.Int("inventory.locks", len(merge.Fences)),
	))
	result, err := s.Store.Merge(ctx, merge)
	span.SetAttributes(attribute.Int("inventory.merged", result.Merged))
	end(span, err)
	return result, err
}

func end(span trace.Span, err error) {
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}
