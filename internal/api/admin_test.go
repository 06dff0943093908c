package api

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// TestProfilesEnd: a long profile ends at the limit, with what it has until then.
func TestProfilesEnd(t *testing.T) {
	t.Parallel()
	admin := NewAdmin(AdminConfig{Gatherer: prometheus.NewRegistry(), Logger: silent(), ProfileLimit: 100 * time.Millisecond})
	for _, path := range []string{"/debug/pprof/profile", "/debug/pprof/trace", "/debug/pprof/goroutine"} {
		start := time.Now()
		w := httptest.NewRecorder()
		admin.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path+"?seconds=40", nil))
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%s took %s: %d", path, took, w.Code)
		}
	}
}
