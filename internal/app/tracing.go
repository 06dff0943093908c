package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

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

// tracing sends spans to a collector. Nil is off: then nothing is wrapped or hooked, and requests run no code for traces.
type tracing struct {
	provider *sdktrace.TracerProvider
	exporter *exporter
}

// tracesWanted reports whether OpenTelemetry's environment names a collector. It refuses settings that would silently be
// ignored.
func tracesWanted(environment func(string) string) (bool, error) {
	endpoint := cmp.Or(environment("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), environment("OTEL_EXPORTER_OTLP_ENDPOINT"))
	if endpoint == "" || strings.EqualFold(environment("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	switch kind := environment("OTEL_TRACES_EXPORTER"); kind {
	case "", "otlp":
	case "none":
		return false, nil
	default:
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER %q: must be otlp or none", kind)
	}
	switch protocol := cmp.Or(environment("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), environment("OTEL_EXPORTER_OTLP_PROTOCOL")); protocol {
	case "", "http/protobuf":
		return true, nil
	default:
		return false, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL %q: must be http/protobuf", protocol)
	}
}

// openTraces starts tracing if the environment names a collector. OpenTelemetry itself reads endpoint, headers, sampler,
// batches and the service's name from the environment.
func (a *App) openTraces(ctx context.Context) error {
	wanted, err := tracesWanted(os.Getenv)
	if err != nil {
		return ConfigError{err}
	}
	if !wanted {
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
	exporter := newExporter(to, a.config.Logger)
	a.traces = &tracing{exporter: exporter, provider: sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))}
	a.onClose(a.traces.close)
	a.config.Logger.Info("traces are sent to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names")
	return nil
}

// close sends the remaining spans while ctx lasts.
func (t *tracing) close(ctx context.Context) error {
	err := t.provider.Shutdown(ctx)
	t.exporter.abort()
	<-t.exporter.ended
	if err != nil {
		return fmt.Errorf("send the last traces: %w", err)
	}
	return nil
}

// postgres traces the statements of a pool that belong to a span.
func (t *tracing) postgres(config *pgxpool.Config) {
	config.ConnConfig.Tracer = otelpgx.NewTracer(otelpgx.WithTracerProvider(t.provider),
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

// redis traces each command of a client separately: commands belong to locks, and so to many requests. Spans have no
// arguments.
func (t *tracing) redis(client redis.UniversalClient) error {
	err := redisotel.InstrumentTracing(client, redisotel.WithTracerProvider(t.provider),
		redisotel.WithDBStatement(false), redisotel.WithCallerEnabled(false))
	if err != nil {
		return fmt.Errorf("trace Redis: %w", err)
	}
	return nil
}

// store traces batches, so that their statements belong to a span.
func (t *tracing) store(store stock.Store) stock.Store {
	return tracedStore{Store: store, tracer: t.provider.Tracer("inventory/internal/stock")}
}

// exporter wraps an exporter: it ends with the service, and logs its failures, but not each one.
type exporter struct {
	sdktrace.SpanExporter
	log   *slog.Logger
	life  context.Context
	abort context.CancelFunc // stops the current sending
	ended chan struct{}      // closed when nothing more will be sent
	fails bool
}

func newExporter(to sdktrace.SpanExporter, log *slog.Logger) *exporter {
	e := &exporter{SpanExporter: to, log: log, ended: make(chan struct{})}
	e.life, e.abort = context.WithCancel(context.Background())
	return e
}

// ExportSpans sends spans. One goroutine at a time calls it. It logs the first of several errors in a row. A returned
// error would go to OpenTelemetry's one error handler for the whole program.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.life, cancel)()
	start := time.Now()
	err := e.SpanExporter.ExportSpans(ctx, spans)
	switch failed := err != nil; {
	case failed && !e.fails:
		e.log.Warn("traces are lost: the collector does not take them", "spans", len(spans), "took", time.Since(start), "error", err)
	case !failed && e.fails:
		e.log.Info("the collector takes traces again")
	}
	e.fails = err != nil
	return nil
}

// Shutdown is called last, whether or not all spans were sent.
func (e *exporter) Shutdown(ctx context.Context) error {
	defer close(e.ended)
	return e.SpanExporter.Shutdown(ctx)
}

// tracedStore gives every write of orders and settlements a span. A batch and a settlement serve many requests and belong to
// none of their spans. All other calls are made for one request, in its context.
type tracedStore struct {
	stock.Store
	tracer trace.Tracer
}

// Deduct implements [stock.Store].
func (s tracedStore) Deduct(ctx context.Context, batch stock.Batch) (stock.BatchResult, error) {
	return spanned(ctx, s, "batch", func(ctx context.Context) (stock.BatchResult, error) { return s.Store.Deduct(ctx, batch) },
		attribute.String("inventory.sku", batch.SKU),
		attribute.Int("inventory.segment", batch.Segment),
		attribute.Int("inventory.orders", len(batch.Orders)),
		attribute.Bool("inventory.locked", batch.Fence.Token != 0))
}

// Merge implements [stock.Store].
func (s tracedStore) Merge(ctx context.Context, merge stock.Batch) (stock.BatchResult, error) {
	return spanned(ctx, s, "merge", func(ctx context.Context) (stock.BatchResult, error) {
		result, err := s.Store.Merge(ctx, merge)
		trace.SpanFromContext(ctx).SetAttributes(attribute.Int("inventory.merged", result.Merged))
		return result, err
	},
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

// SettleOrder implements [stock.Store].
func (s tracedStore) SettleOrder(ctx context.Context, o stock.OrderSettlement) ([]stock.Settled, error) {
	return spanned(ctx, s, "settlement of an order", func(ctx context.Context) ([]stock.Settled, error) {
		settled, err := s.Store.SettleOrder(ctx, o)
		trace.SpanFromContext(ctx).SetAttributes(attribute.Int("inventory.lines", len(settled)))
		return settled, err
	})
}

// Retake implements [stock.Store].
func (s tracedStore) Retake(ctx context.Context, deadline time.Time, retakes ...stock.Retake) ([]stock.Deduction, error) {
	return spanned(ctx, s, "retake", func(ctx context.Context) ([]stock.Deduction, error) { return s.Store.Retake(ctx, deadline, retakes...) },
		attribute.Int("inventory.lines", len(retakes)))
}

// spanned makes a call in a span.
func spanned[R any](
	ctx context.Context, s tracedStore, name string, call func(context.Context) (R, error), attributes ...attribute.KeyValue,
) (R, error) {
	ctx, span := s.tracer.Start(ctx, name, trace.WithAttributes(attributes...))
	defer span.End()
	result, err := call(ctx)
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
	}
	return result, err
}
