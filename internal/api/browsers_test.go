package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"inventory/internal/events"
)

func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

// fromBrowser returns a POST as a browser sends it for a page.
func fromBrowser(t *testing.T, host string, header ...string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/skus/a/deductions/o/cancel", nil)
	r.Host = host
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	return r
}

// If the service asks for no key, a page of another site must not commit or cancel, and neither must a page whose own
// name now means this machine.
func TestOtherPagesAreRefused(t *testing.T) {
	t.Parallel()
	local := &server{Config: Config{Hosts: NewHosts("shop.test")}}
	guarded := &server{Config: Config{Guard: &countingGuard{}}}
	for _, c := range []struct {
		name    string
		server  *server
		request *http.Request
		refused bool
	}{
		{"a program", local, fromBrowser(t, "127.0.0.1:8080"), false},
		{"the page of /docs", local, fromBrowser(t, "localhost:8080", "Sec-Fetch-Site: same-origin", "Origin: http://localhost:8080"), false},
		{"another site", local, fromBrowser(t, "127.0.0.1:8080", "Sec-Fetch-Site: cross-site", "Origin: https://evil.test"), true},
		{"another port", local, fromBrowser(t, "127.0.0.1:8080", "Sec-Fetch-Site: same-site", "Origin: http://127.0.0.1:3000"), true},
		{"another site, of an old browser", local, fromBrowser(t, "127.0.0.1:8080", "Origin: https://evil.test"), true},
		{"a page without an origin", local, fromBrowser(t, "127.0.0.1:8080", "Origin: null"), true},
		{"a name of another site", local, fromBrowser(t, "evil.test:8080", "Sec-Fetch-Site: same-origin", "Origin: http://evil.test:8080"), true},
		{"text after an address", local, fromBrowser(t, "[::1]evil.test"), true},
		{"text after an address, and a port", local, fromBrowser(t, "[::1]evil.test:80"), true},
		{"a port that is none", local, fromBrowser(t, "localhost:80:evil.test"), true},
		{"an open bracket", local, fromBrowser(t, "[::1"), true},
		{"IPv6 and a port", local, fromBrowser(t, "[::1]:8080"), false},
		{"a name that begins well", local, fromBrowser(t, "127.0.0.1.evil.test"), true},
		{"localhost of another site", local, fromBrowser(t, "localhost.evil.test"), true},
		{"an address of the network", local, fromBrowser(t, "192.0.2.1:8080"), true},
		{"localhost", local, fromBrowser(t, "LOCALHOST."), false},
		{"another loopback address", local, fromBrowser(t, "127.1.2.3"), false},
		{"IPv6", local, fromBrowser(t, "[::1]:8080"), false},
		{"a further name", local, fromBrowser(t, "Shop.test:8080"), false},
		{"no host", local, fromBrowser(t, ""), false},
		{"with keys, another site", guarded, fromBrowser(t, "shop.example", "Sec-Fetch-Site: cross-site", "Origin: https://other.example"), false},
	} {
		if err := c.server.refuseOtherPages(c.request); (err != nil) != c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// The check runs before the handlers of both listeners.
func TestOtherPagesAreRefusedByTheListeners(t *testing.T) {
	t.Parallel()
	hosts := NewHosts()
	public := New(Config{Metrics: NewMetrics(prometheus.NewRegistry()), Logger: silent(), Hosts: hosts})
	admin := AdminConfig{Gatherer: prometheus.NewRegistry(), Logger: silent(), Hosts: hosts}
	for name, c := range map[string]struct {
		handler http.Handler
		path    string
	}{
		"public": {public, "/openapi.yaml"}, "admin": {NewAdmin(admin), "/debug/pprof/"}, "probes": {NewProbes(admin), "/healthz"},
	} {
		for host, want := range map[string]int{"localhost:1": http.StatusOK, "evil.test": http.StatusForbidden} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.path, nil)
			r.Host = host
			w := httptest.NewRecorder()
			c.handler.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s as %s: %d %s", name, host, w.Code, w.Body)
			}
		}
	}
	for request, want := range map[string]int{
		"OPTIONS /openapi.yaml": http.StatusNoContent, "POST /openapi.yaml": http.StatusMethodNotAllowed, "GET /none": http.StatusNotFound,
	} {
		method, path, _ := strings.Cut(request, " ")
		for host, want := range map[string]int{"localhost:1": want, "evil.test": http.StatusForbidden} {
			r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
			r.Host = host
			w := httptest.NewRecorder()
			public.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s as %s: %d %s", request, host, w.Code, w.Body)
			}
		}
	}
	for method, want := range map[string]int{http.MethodPost: http.StatusForbidden, http.MethodGet: http.StatusOK} {
		r := fromBrowser(t, "localhost", "Sec-Fetch-Site: cross-site")
		if r.Method = method; method == http.MethodGet {
			r.URL.Path = "/openapi.yaml"
		}
		w := httptest.NewRecorder()
		public.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s for a page of another site: %d %s", method, w.Code, w.Body)
		}
	}
}

// A page of another site can start neither a profile nor a stream of events, although it could not read them.
func TestOtherPagesStartNothingThatCosts(t *testing.T) {
	t.Parallel()
	hub := events.NewHub(events.Config{})
	t.Cleanup(func() {
		if err := hub.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	public := New(Config{Metrics: NewMetrics(prometheus.NewRegistry()), Logger: silent(), Events: hub})
	admin := NewAdmin(AdminConfig{Gatherer: prometheus.NewRegistry(), Logger: silent()})
	for path, handler := range map[string]http.Handler{"/debug/pprof/": admin, "/debug/pprof/trace?seconds=0.01": admin, "/v1/events": public} {
		for site, want := range map[string]int{
			"": http.StatusOK, "none": http.StatusOK, "same-origin": http.StatusOK, "same-site": http.StatusForbidden, "cross-site": http.StatusForbidden,
		} {
			method := http.MethodGet
			if path == "/v1/events" {
				method = http.MethodHead // the head of a stream, which ends
			}
			r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
			r.Header.Set("Sec-Fetch-Site", site)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s for a page of %q: %d %s, want %d", path, site, w.Code, w.Body, want)
			}
		}
	}
}

// The hot path pays for the check with every request.
func TestRefusingPagesCostsNoAllocation(t *testing.T) {
	s := &server{Config: Config{Hosts: NewHosts()}}
	for _, host := range []string{"localhost:8080", "127.0.0.1:8080"} {
		r := fromBrowser(t, host)
		if n := testing.AllocsPerRun(1000, func() {
			if err := s.refuseOtherPages(r); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", host, n)
		}
	}
}

func BenchmarkRefusingPages(b *testing.B) {
	s := &server{Config: Config{Hosts: NewHosts()}}
	c := echo.New().NewContext(httptest.NewRequestWithContext(b.Context(), http.MethodPost, "http://127.0.0.1:8080/", nil), nil)
	for b.Loop() {
		if err := s.refuseOtherPages(c.Request()); err != nil {
			b.Fatal(err)
		}
	}
}
