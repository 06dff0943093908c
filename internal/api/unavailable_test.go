package api_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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

func (s brokenStore) Segments(context.Context, string) ([]int64, error) { return nil, s.err }

func (s brokenStore) Status(context.Context, string) (stock.Status, error) {
	return stock.Status{}, s.err
}

func (s brokenStore) Watch(context.Context, func(), func(string)) error { return nil }

func (s brokenStore) Restock(context.Context, stock.Restock) (bool, error) { panic(s.err) }

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
			for _, r := range []*http.Request{
				httptest.NewRequestWithContext(t.Context(), "GET", "/v1/skus/a", nil),
				post(t, "/v1/skus/a/deductions", `{"order_id":"o","quantity":1}`),
				post(t, "/v1/skus/a/restock", `{"ref":"r","quantity":1}`), // its handler panics
			} {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				body := w.Body.String()
				if w.Code != 503 || w.Header().Get("Retry-After") == "" || strings.Contains(body, "canary") {
					t.Errorf("%s: %d, Retry-After %q, %s", r.URL, w.Code, w.Header().Get("Retry-After"), body)
				}
				if r.URL.Path != "/v1/skus/a/restock" && !strings.Contains(body, `"code":"`+c.code+`"`) {
					t.Errorf("%s: %s", r.URL, body)
				}
			}
		})
	}
}

func post(t *testing.T, path, body string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return r
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
