package api_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"

	"inventory/internal/api"
	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// canary stands for what an internal error may contain.
const canary = "postgres://user:canary-7391@db/inventory"

// brokenStore answers everything with one error.
type brokenStore struct {
	stock.Store
	err error
}

func (s brokenStore) CreateSKU(context.Context, stock.NewSKU, time.Time) (bool, error) {
	return false, s.err
}

func (s brokenStore) Views(context.Context, ...string) (map[string]stock.View, error) {
	return nil, s.err
}

func (s brokenStore) Status(context.Context, string, time.Time) (stock.Status, error) {
	return stock.Status{}, s.err
}

func (s brokenStore) Deduction(context.Context, string, string) (stock.Deduction, error) {
	return stock.Deduction{}, s.err
}

func (s brokenStore) Settle(context.Context, stock.Settlement) ([]stock.Settled, error) {
	return nil, s.err
}

func (s brokenStore) BeingCounted(context.Context, int) ([]string, error) { return nil, nil }

func (s brokenStore) Expired(context.Context, time.Time, int) ([]stock.Due, error) { return nil, nil }

func (s brokenStore) Watch(context.Context, func(), func(string)) error { return nil }

func (s brokenStore) Restock(context.Context, stock.Movement) (bool, error) { panic(s.err) }

func (s brokenStore) Adjust(context.Context, stock.Movement) (bool, error) { return false, s.err }

func (s brokenStore) Movements(context.Context, string, stock.Position, int) ([]stock.Movement, error) {
	return nil, s.err
}

// Move panics for a restock, like the methods that brokenStore does not have.
func (s brokenStore) Move(_ context.Context, m stock.Movement) (bool, error) {
	if m.Kind == stock.Restocked {
		panic(canary)
	}
	return false, s.err
}

func (s brokenStore) Expire(context.Context, string, time.Time) (int, error) {
	return 0, s.err
}

func (s brokenStore) HasMoreOrders(context.Context, string, int) (bool, error) { return false, s.err }

func (s brokenStore) Audit(context.Context, string, func(done, of int)) (stock.Audit, error) {
	return stock.Audit{}, s.err
}

func TestUnavailable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		code string
	}{
		"internal":      {errors.New(canary), "unavailable"},
		"disk full":     {&pgconn.PgError{Severity: "ERROR", Code: "53100", Message: "could not extend file of " + canary}, "unavailable"},
		"no connection": {fmt.Errorf("acquire a connection of %s: %w", canary, context.DeadlineExceeded), "unavailable"},
		"overloaded":    {&stock.Error{Code: stock.CodeOverloaded, Message: "try again later"}, "overloaded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := selling.NewService(selling.Config{Store: brokenStore{err: c.err}, AnswerWithin: answerWithin})
			t.Cleanup(func() {
				if err := service.Close(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
			})
			handler := api.New(api.Config{
				Service: service, Metrics: api.NewMetrics(prometheus.NewRegistry()), Logger: new(busytest.Log).Logger(),
			})
			for _, r := range []struct{ method, path, body string }{
				{"PUT", "/v1/skus/a", `{"stock":1}`},
				{"GET", "/v1/skus/a", ""},
				{"POST", "/v1/skus/a/deductions", `{"order_id":"o","quantity":1}`},
				{"GET", "/v1/skus/a/deductions/o", ""},
				{"POST", "/v1/skus/a/deductions/o/commit", ""},
				{"POST", "/v1/skus/a/deductions/o/extend", `{"ref":"r","reserve_for":"1h"}`},
				{"POST", "/v1/skus/a/deductions/o/cancel", ""},
				{"POST", "/v1/skus/a/deductions/o/cancel", `{"ref":"r","quantity":1}`},
				{"POST", "/v1/orders", `{"order_id":"o","lines":[{"sku":"a","quantity":1}]}`},
				{"POST", "/v1/skus/a/restock", `{"ref":"r","quantity":1}`}, // its handler panics
				{"POST", "/v1/skus/a/adjust", `{"ref":"r","quantity":1,"reason":"count"}`},
				{"POST", "/v1/skus/a/resegment", `{"ref":"r","segments":1}`},
				{"GET", "/v1/skus/a/movements", ""},
				{"GET", "/v1/skus/a/audit", ""},
				{"GET", "/v1/audit", ""},
			} {
				w := serve(t, handler, r.method, r.path, r.body)
				body := w.Body.String()
				if w.Code != 503 || w.Header().Get("Retry-After") == "" || strings.Contains(body, "canary") {
					t.Errorf("%s: %d, Retry-After %q, %s", r.path, w.Code, w.Header().Get("Retry-After"), body)
				}
				if r.path != "/v1/skus/a/restock" && !strings.Contains(body, `"code":"`+c.code+`"`) {
					t.Errorf("%s: %s", r.path, body)
				}
			}
		})
	}
}

// TestUnavailableWhileItStops: a request that comes while the service stops is answered with a 503, for another process.
func TestUnavailableWhileItStops(t *testing.T) {
	t.Parallel()
	service := selling.NewService(selling.Config{Store: brokenStore{err: errors.New(canary)}})
	if err := service.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	handler := api.New(api.Config{
		Service: service, Metrics: api.NewMetrics(prometheus.NewRegistry()), Logger: slog.New(slog.DiscardHandler),
	})
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, post(t, "/v1/skus/a/deductions", `{"order_id":"o","quantity":1}`))
	if w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `"code":"unavailable"`) {
		t.Errorf("got %d %v %s, want 503 with Retry-After and the code unavailable", w.Code, w.Header(), w.Body)
	}
}

// TestRetryAfterIsJittered: callers that were refused together must not come back together.
func TestRetryAfterIsJittered(t *testing.T) {
	t.Parallel()
	service := selling.NewService(selling.Config{Store: brokenStore{err: &stock.Error{Code: stock.CodeOverloaded}}})
	t.Cleanup(func() {
		if err := service.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	handler := api.New(api.Config{
		Service: service, Metrics: api.NewMetrics(prometheus.NewRegistry()), Logger: slog.New(slog.DiscardHandler),
	})
	told := make(map[string]int)
	for range 200 { // the chance that one of three is never drawn is 1 in 10^34
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/v1/skus/a", nil))
		told[w.Header().Get("Retry-After")]++
	}
	if len(told) != 3 || told["1"] == 0 || told["2"] == 0 || told["3"] == 0 {
		t.Errorf("callers are told to wait for %v seconds", told)
	}
}

func post(t *testing.T, path, body string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return r
}

func TestReadyzShowsWhatFails(t *testing.T) {
	t.Parallel()
	works := func(context.Context) error { return nil }
	fails := func(context.Context) error { return errors.New(canary) }
	hangs := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	readOnly := func(context.Context) error { return fmt.Errorf("%w: secret", stock.ErrNotWritable) }
	for _, c := range []struct {
		name                   string
		database, redis, locks func(context.Context) error
		status                 int
		body                   string
	}{
		{"all", works, works, works, 200, `{"database":"ok","redis":"ok","locks":"ok"}`},
		{"no Redis wanted", works, nil, nil, 200, `{"database":"ok","redis":"none","locks":"none"}`},
		{"Redis fails", works, fails, fails, 200, `{"database":"ok","redis":"unreachable","locks":"failing"}`},
		{"Redis hangs", works, hangs, hangs, 200, `{"database":"ok","redis":"unreachable","locks":"failing"}`},
		{"Redis answers and gives no locks", works, works, fails, 200, `{"database":"ok","redis":"ok","locks":"failing"}`},
		{"database fails", fails, works, works, 503, `{"database":"unreachable","redis":"ok","locks":"ok"}`},
		{"database takes no writes", readOnly, works, works, 503, `{"database":"not_writable","redis":"ok","locks":"ok"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			busytest.Virtual(t, func(t *testing.T) {
				handler := api.NewAdmin(api.AdminConfig{
					Gatherer: prometheus.NewRegistry(), Database: c.database, Redis: c.redis, Locks: c.locks, Logger: slog.New(slog.DiscardHandler),
				})
				w, start := httptest.NewRecorder(), time.Now()
				handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil))
				if took := time.Since(start); took > time.Second { // as long as orchestrators wait
					t.Errorf("answered after %v", took)
				}
				if w.Code != c.status || strings.TrimSpace(w.Body.String()) != c.body {
					t.Errorf("got %d %s, want %d %s", w.Code, w.Body.String(), c.status, c.body)
				}
			})
		})
	}
}

// TestFastProbesShareAnAnswer: a readiness check is not free.
func TestFastProbesShareAnAnswer(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		asked := 0
		ask := func(context.Context) error { asked++; return nil }
		handler := api.NewAdmin(api.AdminConfig{
			Gatherer: prometheus.NewRegistry(), Database: ask, Logger: slog.New(slog.DiscardHandler),
		})
		for range 10 {
			handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil))
			time.Sleep(150 * time.Millisecond)
		}
		if asked != 2 {
			t.Errorf("ten probes in a second and a half asked %d times, want 2", asked)
		}
	})
}
