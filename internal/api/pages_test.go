package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestPagesAreServedWhole: no caller needs a part of a page, and net/http's own errors about parts and versions are no
// problems.
func TestPagesAreServedWhole(t *testing.T) {
	t.Parallel()
	handler := newHandler(t, nil)
	for _, path := range []string{"/docs", "/docs/page.js", "/docs/swagger-ui.css", "/docs/problems/sold_out", "/console", "/console/index.html", "/openapi.yaml"} {
		for _, header := range []string{"Range: bytes=9999999-", "Range: bytes=5-2", "Range: bytes=0-1", `If-Match: "x"`, "If-Unmodified-Since: Mon, 01 Jan 1990 00:00:00 GMT"} {
			name, value, _ := strings.Cut(header, ": ")
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			r.Header.Set(name, value)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != http.StatusOK || w.Body.Len() < 100 {
				t.Errorf("%s with %s: %d %.80q", path, header, w.Code, w.Body)
			}
		}
	}
}
