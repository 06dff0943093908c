package api

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"inventory/internal/busytest"
)

// TestProfilesEnd: a profile ends at the limit, however long its caller asks for.
func TestProfilesEnd(t *testing.T) {
	t.Parallel()
	admin := NewAdmin(AdminConfig{Gatherer: prometheus.NewRegistry(), Logger: silent(), ProfileLimit: 100 * time.Millisecond})
	for _, path := range []string{"/debug/pprof/profile", "/debug/pprof/trace", "/debug/pprof/goroutine"} {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path+"?seconds=86400", nil)
			admin.ServeHTTP(httptest.NewRecorder(), r)
		}()
		busytest.Receive(t, "the end of "+path, ended)
	}
}
