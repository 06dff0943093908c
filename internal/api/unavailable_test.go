package api_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"inventory/internal/api"
	"inventory/internal/stock"
)

// canary stands for what an internal error may hold.
const canary = "postgres://user:canary-7391@db/inventory"

// brokenStore answers everything with one error.
type brokenStore struct {
	stock.Store
	err error
}

func (s brokenStore) CreateSKU(context.Context, stock.NewSKU, time.Time) (bool, error) {
	return false, s.err
}

func (s brokenStore) Look(context.Context, ...string) (map[string]stock.View, error) {
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

func (s brokenStore) Expired(context.Context, time.Time, int) ([]string, error) { return nil, nil }

func (s brokenStore) Watch(context.Context, func(), func(string)) error { return nil }

func (s brokenStore) Restock(context.Context, stock.Movement) (bool, error) { panic(s.err) }

func (s brokenStore) Adjust(context.Context, stock.Movement) (bool, error) { return false, s.err }

func (s brokenStore) Movements(context.Context, string, stock.Position, int) ([]stock.Movement, error) {
	return nil, s.err
}

func (s brokenStore) Audit(context.Context, string) (stock.Audit, error) {
	return stock.Audit{}, s.err
}

func TestUnavailable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		code string
	}{
		"internal":   {errors.New(canary), "unavailable"},
		"overloaded": {&stock.Error{Code: stock.CodeOverloaded, Message: "try again later"}, "overloaded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := stock.NewService(stock.Config{Store: brokenStore{err: c.err}})
			t.Cleanup(func() {
				if err := service.Close(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
			})
			var log strings.Builder
			handler := api.New(api.Config{
				Service: service, Metrics: api.NewMetrics(prometheus.NewRegistry()),
				Logger: slog.New(slog.NewTextHandler(&log, nil)),
			})
			for _, r := range []struct{ method, path, body string }{
				{"PUT", "/v1/skus/a", `{"stock":1}`},
				{"GET", "/v1/skus/a", ""},
				{"POST", "/v1/skus/a/deductions", `{"order_id":"o","quantity":1}`},
				{"GET", "/v1/skus/a/deductions/o", ""},
				{"POST", "/v1/skus/a/deductions/o/commit", ""},
				{"POST", "/v1/skus/a/deductions/o/cancel", ""},
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

func TestReadiness(t *testing.T) {
	t.Parallel()
	works := func(context.Context) error { return nil }
	fails := func(context.Context) error { return errors.New(canary) }
	hangs := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for _, c := range []struct {
		name            string
		database, redis func(context.Context) error
		status          int
		body            string
	}{
		{"all", works, works, 200, `{"database":"ok","redis":"ok"}`},
		{"no Redis wanted", works, nil, 200, `{"database":"ok","redis":"none"}`},
		{"Redis fails", works, fails, 200, `{"database":"ok","redis":"unreachable"}`},
		{"Redis hangs", works, hangs, 200, `{"database":"ok","redis":"unreachable"}`},
		{"database fails", fails, works, 503, `{"database":"unreachable","redis":"ok"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			handler := api.NewAdmin(api.AdminConfig{
				Gatherer: prometheus.NewRegistry(), Database: c.database, Redis: c.redis, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
			})
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil))
			if w.Code != c.status || strings.TrimSpace(w.Body.String()) != c.body {
				t.Errorf("%d %s", w.Code, w.Body.String())
			}
		})
	}
}
