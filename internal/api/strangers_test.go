package api

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"inventory/internal/access"
	"inventory/internal/stock"
)

// countingGuard accepts no credential, and counts those that it has checked.
type countingGuard struct{ keys, tokens int }

func (g *countingGuard) Authenticate(authorization string) (access.Caller, error) {
	if g.Costs(authorization) {
		g.tokens++
	} else {
		g.keys++
	}
	return access.Caller{}, errors.New("not good")
}

func (g *countingGuard) Costs(authorization string) bool { return authorization == "Bearer token" }

// Beyond the limit of an address the service checks no signature: a bad token costs as much as any refused request.
func TestBadTokensAreNotReadBeyondTheLimit(t *testing.T) {
	t.Parallel()
	limiter, err := access.NewLimiter(0.001, 3)
	if err != nil {
		t.Fatal(err)
	}
	guard := &countingGuard{}
	s := &server{Config: Config{Guard: guard, Limiter: limiter, Strangers: limiter}}
	handler := s.admit(buyers, func(echo.Context) error { return nil })
	codes := make(map[stock.Code]int)
	send := func(authorization, from string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/skus/a", nil)
		r.Header.Set("Authorization", authorization)
		r.RemoteAddr = from
		codes[stock.CodeOf(handler(echo.New().NewContext(r, httptest.NewRecorder())))]++
	}
	for range 1000 {
		send("Bearer token", "192.0.2.1:80")
	}
	if guard.tokens != 3 || codes[codeUnauthenticated] != 3 || codes[codeRateLimited] != 997 {
		t.Errorf("%d of 1000 bad tokens were checked: %v", guard.tokens, codes)
	}
	send("Bearer token", "192.0.2.2:80")
	if guard.tokens != 4 {
		t.Error("another address was not listened to")
	}
	// A key is still looked up: a shop behind the same address is let in.
	if send("Bearer key", "192.0.2.1:80"); guard.keys != 1 {
		t.Error("a key was not looked up")
	}
}

// Requests without a route count as well.
func TestUnroutedRequestsAreLimited(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]struct {
		method, path string
		want         int
	}{
		"no such path":       {http.MethodGet, "/nothing", http.StatusNotFound},
		"wrong method":       {http.MethodDelete, "/v1/orders", http.StatusMethodNotAllowed},
		"OPTIONS":            {http.MethodOptions, "/v1/orders", http.StatusNoContent},
		"OPTIONS of no path": {http.MethodOptions, "/nothing", http.StatusNotFound},
	} {
		limiter, err := access.NewLimiter(0.001, 3)
		if err != nil {
			t.Fatal(err)
		}
		handler := New(Config{Metrics: NewMetrics(prometheus.NewRegistry()), Logger: silent(), Limiter: limiter, Strangers: limiter})
		for i := range 5 {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), ask.method, ask.path, nil))
			want := ask.want
			if i >= 3 {
				want = http.StatusTooManyRequests
			}
			if w.Code != want || w.Header().Get("RateLimit") == "" {
				t.Errorf("%s, request %d: %d %v", name, i+1, w.Code, w.Header())
			}
		}
	}
}
