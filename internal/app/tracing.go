package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/extra/redisotel/v9"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"inventory/internal/stock"
)

// tracesWanted reports whether OpenTelemetry's environment names a collector.
func tracesWanted(environment func(string) string) bool {
	endpoint := cmp.Or(environment("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), environment("OTEL_EXPORTER_OTLP_ENDPOINT"))
	return endpoint != "" && environment("OTEL_TRACES_EXPORTER") != "none" && !strings.EqualFold(environment("OTEL_SDK_DISABLED"), "true")
}

// openTraces starts tracing if the environment names a collector. OpenTelemetry itself reads endpoint, headers, sampler,
// batches and the service's name from the environment.
func (a *App) openTraces(ctx context.Context) error {
	if !tracesWanted(os.Getenv) {
		return nil
	}
	to, err := otlptracehttp.New(ctx)
	if err != nil {
		return fmt.Errorf("open the exporter of traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "inventory")),
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithProcessPID(), resource.WithFromEnv())
	if err != nil {
		return errors.Join(ConfigError{fmt.Errorf("describe this process for traces: %w", err)}, to.Shutdown(ctx))
	}
	a.traces = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter{to, a.warnings}), sdktrace.WithResource(about))
	a.onClose(func(ctx context.Context) error {
		if err := a.traces.Shutdown(ctx); err != nil { // it sends the remaining spans while ctx lasts
			return errors.Join(fmt.Errorf("send the last traces: %w", err), to.Shutdown(context.WithoutCancel(ctx)))
		}
		return nil
	})
	a.config.Logger.Info("traces are sent to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names")
	return nil
}

// exporter warns while a collector takes no spans.
type exporter struct {
	sdktrace.SpanExporter
	warnings *warnings
}

// ExportSpans sends spans. A returned error would go to OpenTelemetry's one error handler for the whole program.
func (e exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.warnings.begin("traces_lost", "traces are lost: the collector does not take them", "error", err)
	} else {
		e.warnings.end("traces_lost")
	}
	return nil
}

// tracePostgres traces the statements of a pool that belong to a span.
func (a *App) tracePostgres(config *pgxpool.Config) {
	config.ConnConfig.Tracer = otelpgx.NewTracer(otelpgx.WithTracerProvider(a.traces),
		otelpgx.WithSpanNameFunc(statementName), otelpgx.WithDisableConnectionDetailsInAttributes())
}

// statementName returns a statement's first word after the comments.
func statementName(statement string) string {
	for line := range strings.Lines(statement) {
		if words := strings.Fields(line); len(words) > 0 && !strings.HasPrefix(words[0], "--") {
			return strings.ToUpper(words[0])
		}
	}
	return "statement"
}

// traceRedis traces each command of a client separately: commands belong to locks, and so to many requests. Spans have no
// arguments.
func (a *App) traceRedis(client redis.UniversalClient) error {
	err := redisotel.InstrumentTracing(client, redisotel.WithTracerProvider(a.traces),
		redisotel.WithDBStatement(false), redisotel.WithCallerEnabled(false))
	if err != nil {
		return fmt.Errorf("trace Redis: %w", err)
	}
	return nil
}

// tracedStore gives batches, merges and settlements spans: they serve many requests, and belong to none of their spans. All other
// calls are made for one request, in its span.
type tracedStore struct {
	stock.Store
	tracer trace.Tracer
}

func traceStore(store stock.Store, to trace.TracerProvider) stock.Store {
	return tracedStore{store, to.Tracer("inventory/internal/stock")}
}

// Deduct implements [stock.Store].
func (s tracedStore) Deduct(ctx context.Context, batch stock.Batch) (stock.BatchResult, error) {
	return spanned(ctx, s, "batch", func(ctx context.Context) (stock.BatchResult, error) { return s.Store.Deduct(ctx, batch) },
		attributesOf(batch)...)
}

func attributesOf(batch stock.Batch) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("inventory.sku", batch.SKU),
		attribute.Int("inventory.segment", batch.Segment),
		attribute.Int("inventory.orders", len(batch.Orders)),
		attribute.Bool("inventory.locked", batch.Fence.Token != 0),
	}
}

// Share implements [stock.Sharer].
func (s tracedStore) Share(sku string, batch stock.SharedBatch) bool {
	sharer, is := s.Store.(stock.Sharer)
	return is && sharer.Share(sku, &tracedBatch{SharedBatch: batch, tracer: s.tracer})
}

// tracedBatch has a span while it is in a shared write.
type tracedBatch struct {
	stock.SharedBatch
	tracer trace.Tracer
	span   trace.Span
}

// Begin implements [stock.SharedBatch].
func (b *tracedBatch) Begin() (stock.Batch, bool) {
	batch, there := b.SharedBatch.Begin()
	if there {
		_, b.span = b.tracer.Start(context.Background(), "batch", trace.WithAttributes(attributesOf(batch)...))
	}
	return batch, there
}

// Written implements [stock.SharedBatch].
func (b *tracedBatch) Written(result stock.BatchResult, decided bool, err error) {
	endSpan(b.span, err)
	b.SharedBatch.Written(result, decided, err)
}

// Merge implements [stock.Store].
func (s tracedStore) Merge(ctx context.Context, merge stock.Batch) (stock.BatchResult, error) {
	return spanned(ctx, s, "merge", func(ctx context.Context) (stock.BatchResult, error) { return s.Store.Merge(ctx, merge) },
		attribute.String("inventory.sku", merge.SKU),
		attribute.Int("inventory.orders", len(merge.Orders)),
		attribute.Int("inventory.locks", len(merge.Fences)))
}

// Settle implements [stock.Store].
func (s tracedStore) Settle(ctx context.Context, settlement stock.Settlement) ([]stock.Settled, error) {
	return spanned(ctx, s, "settlement", func(ctx context.Context) ([]stock.Settled, error) { return s.Store.Settle(ctx, settlement) },
		attribute.String("inventory.sku", settlement.SKU),
		attribute.Int("inventory.requests", len(settlement.Requests)))
}

// spanned makes a call in a span.
func spanned[R any](
	ctx context.Context, s tracedStore, name string, call func(context.Context) (R, error), attributes ...attribute.KeyValue,
) (R, error) {
	ctx, span := s.tracer.Start(ctx, name, trace.WithAttributes(attributes...))
	result, err := call(ctx)
	endSpan(span, err)
	return result, err
}

func endSpan(span trace.Span, err error) {
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}
