package app_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"inventory/internal/app"
	"inventory/internal/busytest"
)

// ask returns the status of an answer, and its body.
func ask(t *testing.T, url string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// Prometheus and probes on other machines get what they need, and no profile.
func TestProbesWithoutProfiles(t *testing.T) {
	t.Parallel()
	a := start(t, app.Config{Lock: app.LockNone, MetricsListen: "0.0.0.0:0"})
	_, port, _ := strings.Cut(strings.TrimPrefix(a.MetricsURL(), "http://["), "]:")
	for path, want := range map[string]int{
		"/metrics": 200, "/healthz": 200, "/readyz": 200, "/debug/pprof/": 404, "/debug/pprof/profile?seconds=1": 404, "/v1/audit": 404,
	} {
		busytest.Soon(t, fmt.Sprint(path, " is answered with ", want), func() bool { // not ready if the disk is busy
			status, _ := ask(t, "http://127.0.0.1:"+port+path)
			return status == want
		})
	}
	if status, _ := ask(t, a.AdminURL()+"/debug/pprof/"); status != http.StatusOK {
		t.Errorf("the admin listener answers %d", status)
	}
	if without := start(t, app.Config{Lock: app.LockNone}); without.MetricsURL() != "" {
		t.Errorf("metrics at %s, where none are wanted", without.MetricsURL())
	}
}
