package api_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"inventory/internal/api"
	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// silentStore answers nothing until its caller's context ends.
type silentStore struct{ brokenStore }

func (silentStore) Views(ctx context.Context, _ ...string) (map[string]stock.View, error) {
	return nil, ended(ctx)
}

func (silentStore) Deduction(ctx context.Context, _, _ string) (stock.Deduction, error) {
	return stock.Deduction{}, ended(ctx)
}

func (silentStore) Movements(ctx context.Context, _ string, _ stock.Position, _ int) ([]stock.Movement, error) {
	return nil, ended(ctx)
}

func (silentStore) Audit(ctx context.Context, _ string, _ func(done, of int)) (stock.Audit, error) {
	return stock.Audit{}, ended(ctx)
}

func ended(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestHangUpIsCountedAndNotLogged: a request whose caller has gone is counted as client_gone and not logged, on every route that waits for
// the database. A request that failed for another reason is counted and logged, even if its caller has gone meanwhile.
func TestHangUpIsCountedAndNotLogged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		store  stock.Store
		cause  error // of the end of the request
		status string
		lines  int
	}{
		"gone":            {silentStore{}, context.Canceled, `code="client_gone",route="/v1/skus/:sku/deductions/:order_id",status="499"`, 0},
		"our own time":    {silentStore{}, context.DeadlineExceeded, `code="unavailable",route="/v1/skus/:sku/deductions/:order_id",status="503"`, 1},
		"a broken server": {brokenStore{err: errors.New("broken")}, context.Canceled, `code="unavailable",route="/v1/skus/:sku/deductions/:order_id",status="503"`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler, registry, log := watched(t, c.store)
			ctx, cancel := context.WithCancel(t.Context())
			if errors.Is(c.cause, context.DeadlineExceeded) {
				ctx, cancel = context.WithTimeout(t.Context(), 0)
			}
			cancel()
			r := httptest.NewRequestWithContext(ctx, "GET", "/v1/skus/a/deductions/o", nil)
			handler.ServeHTTP(httptest.NewRecorder(), r)
			if metrics := scraped(t, registry); !strings.Contains(metrics, "inventory_http_requests_total{"+c.status+"} 1") {
				t.Errorf("%s is not in\n%s", c.status, metrics)
			}
			if lines := strings.Count(log.String(), "\n"); lines != c.lines {
				t.Errorf("the log has %d lines: %s", lines, log.String())
			}
		})
	}
}

// TestHangUpWhileRequestsAreTraced: the log and the metrics are the same as without traces, and the span has the answer's status.
func TestHangUpWhileRequestsAreTraced(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	handler, registry, log := watchedWith(t, silentStore{}, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/v1/skus/a/deductions/o", nil))
	if metrics := scraped(t, registry); !strings.Contains(metrics, `{code="client_gone",route="/v1/skus/:sku/deductions/:order_id",status="499"} 1`) {
		t.Error(metrics)
	}
	if text := log.String(); text != "" {
		t.Errorf("the log says %s", text)
	}
	if ended := spans.Ended(); len(ended) != 1 || !slices.Contains(ended[0].Attributes(), attribute.Int("http.status_code", http.StatusServiceUnavailable)) {
		t.Errorf("spans %v", ended)
	}
}

// TestHangUpOnEveryRoute goes through the routes: on each a caller leaves before the answer.
func TestHangUpOnEveryRoute(t *testing.T) {
	t.Parallel()
	handler, registry, log := watched(t, silentStore{})
	for path, method := range map[string]string{
		"/v1/skus/a/deductions": "POST", "/v1/skus/a/deductions/o": "GET", "/v1/skus/a/movements": "GET", "/v1/skus/a/audit": "GET", "/v1/audit": "GET",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(`{"order_id":"o","quantity":1}`))
		r.Header.Set("Content-Type", "application/json")
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	many := post(t, "/v1/deductions", `{"deductions":[{"sku":"a","order_id":"p","quantity":1},{"sku":"b","order_id":"p","quantity":1}]}`)
	handler.ServeHTTP(httptest.NewRecorder(), many.WithContext(ctx))
	if metrics := scraped(t, registry); !strings.Contains(metrics, `{code="client_gone",route="/v1/deductions",status="499"} 2`) {
		t.Error(metrics)
	}
	if metrics := scraped(t, registry); len(goneCounted.FindAllString(metrics, -1)) != 6 || failedCounted.MatchString(metrics) {
		t.Error(metrics)
	}
	if log.String() != "" {
		t.Error(log.String())
	}
}

// TestBodyThatDoesNotCome: a slow body is 408, and one that is cut off or broken is 400.
func TestBodyThatDoesNotCome(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		status int
		metric string
	}{
		"slow":    {os.ErrDeadlineExceeded, 408, `code="request_timeout",route="/v1/orders",status="408"`},
		"cut off": {io.ErrUnexpectedEOF, 400, `code="invalid_request",route="/v1/orders",status="400"`},
		"broken":  {errors.New("malformed chunked encoding"), 400, `code="invalid_request",route="/v1/orders",status="400"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler, registry, log := watched(t, silentStore{})
			body := readerFunc(func([]byte) (int, error) { return 0, c.err })
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/orders", body)
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != c.status || !strings.Contains(scraped(t, registry), c.metric) || log.String() != "" {
				t.Errorf("%d %s %s\n%s", w.Code, w.Body, log.String(), scraped(t, registry))
			}
		})
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(to []byte) (int, error) { return f(to) }

// watched returns a handler of a store, and what it counts and logs.
func watched(t *testing.T, store stock.Store) (http.Handler, *prometheus.Registry, *busytest.Log) {
	t.Helper()
	return watchedWith(t, store, nil)
}

// watchedWith is watched with traces, or none if there is no provider.
func watchedWith(t *testing.T, store stock.Store, traces trace.TracerProvider) (http.Handler, *prometheus.Registry, *busytest.Log) {
	t.Helper()
	service := selling.NewService(selling.Config{Store: store, AnswerWithin: answerWithin})
	t.Cleanup(func() {
		if err := service.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	registry, log := prometheus.NewRegistry(), &busytest.Log{}
	return api.New(api.Config{Service: service, Metrics: api.NewMetrics(registry), Logger: log.Logger(), Traces: traces}), registry, log
}

// scraped returns what Prometheus would read.
func scraped(t *testing.T, registry *prometheus.Registry) string {
	t.Helper()
	admin := api.NewAdmin(api.AdminConfig{Gatherer: registry, Logger: slog.New(slog.DiscardHandler)})
	return serve(t, admin, "GET", "/metrics", "").Body.String()
}

// Series that have counted something: some start with the service, at 0.
var (
	goneCounted   = regexp.MustCompile(`(?m)code="client_gone".* [1-9]\d*$`)
	failedCounted = regexp.MustCompile(`(?m)status="503".* [1-9]\d*$`)
)
