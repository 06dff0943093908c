package api

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestAnswersAreTakenForWhatTheyAre: also refusals, and those of the other listeners.
func TestAnswersAreTakenForWhatTheyAre(t *testing.T) {
	t.Parallel()
	admin := AdminConfig{Gatherer: prometheus.NewRegistry(), Logger: silent()}
	for name, handler := range map[string]http.Handler{
		"public": New(Config{Metrics: NewMetrics(prometheus.NewRegistry()), Logger: silent()}), "admin": NewAdmin(admin), "probes": NewProbes(admin),
	} {
		for _, path := range []string{"/v1/nothing", "/healthz", "/v1/skus/a/deductions"} {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			if got := w.Header().Get("X-Content-Type-Options"); got != "nosniff" {
				t.Errorf("%s %s: %q", name, path, got)
			}
		}
	}
}
