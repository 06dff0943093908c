package app_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inventory/internal/app"
	"inventory/internal/busytest"
)

// TestResetsAreNoFaults: requests that callers reset over HTTP/2, or hang up over HTTP/1, are counted as client_gone, or as
// invalid_request if their bodies are cut off, and not logged.
func TestResetsAreNoFaults(t *testing.T) {
	t.Parallel()
	certFile, keyFile, trusted := certificate(t)
	log := &busytest.Log{}
	a := start(t, app.Config{
		Lock: app.LockNone, TLSCert: certFile, TLSKey: keyFile, Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	for _, http2 := range []bool{true, false} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: http2, ExpectContinueTimeout: busytest.Patience}
		client := &http.Client{Transport: transport}
		var callers sync.WaitGroup
		for i := range 200 {
			callers.Go(func() { hangUp(t, client, a.URL(), i) })
		}
		callers.Wait()
		transport.CloseIdleConnections()
	}
	counted := func(code string, status int) int64 {
		return (&site{t: t}).metric(a, fmt.Sprintf(`inventory_http_requests_total{code=%q,route="/v1/orders",status="%d"}`, code, status))
	}
	var cut, late int64 // on a busy machine a body may be late before it is cut off
	busytest.Soon(t, "all 100 callers who hung up within their bodies are counted", func() bool {
		cut, late = counted("invalid_request", http.StatusBadRequest), counted("request_timeout", http.StatusRequestTimeout)
		return cut+late >= 100
	})
	if late == 0 && cut != 100 {
		t.Errorf("of 100 callers who hung up within their bodies %d are counted", cut)
	}
	for line := range strings.Lines(metricsOf(t, a)) {
		failed := strings.Contains(line, `status="50`) || strings.Contains(line, "unavailable")
		if strings.HasPrefix(line, "inventory_http_requests_total") && failed && !strings.HasSuffix(line, " 0\n") {
			t.Error(line)
		}
	}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "route=") { // it is about a request
			t.Errorf("the log says %s", line)
		}
	}
}

// hangUp sends a request and hangs up: within its body, or while it is being answered. It repeats every fourth request
// until the service has asked for its body, because a request that is reset earlier may never arrive.
func hangUp(t *testing.T, client *http.Client, url string, i int) {
	t.Helper()
	for !sendAndHangUp(t, client, url, i) && i%4 == 0 && !t.Failed() {
	}
}

// sendAndHangUp reports whether the service has asked for the body.
func sendAndHangUp(t *testing.T, client *http.Client, url string, i int) (asked bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var begun atomic.Bool
	method, path, body := "POST", "/v1/orders", io.Reader(io.MultiReader(strings.NewReader(`{"order_id":`), readerFunc(func([]byte) (int, error) {
		begun.Store(true)
		time.AfterFunc(time.Millisecond, cancel)
		<-ctx.Done()
		return 0, ctx.Err()
	})))
	if i%4 != 0 {
		time.AfterFunc(time.Duration(i)*10*time.Microsecond, cancel)
		method, path, body = "POST", "/v1/skus/a/deductions", strings.NewReader(fmt.Sprintf(`{"order_id":"%d","quantity":1}`, i))
	}
	if i%4 == 2 {
		method, path, body = "GET", "/v1/audit", nil
	}
	request, err := http.NewRequestWithContext(ctx, method, url+path, body)
	if err != nil {
		t.Error(err)
		return false
	}
	request.Header.Set("Content-Type", "application/json")
	if i%4 == 0 {
		request.Header.Set("Expect", "100-continue")
	}
	if response, err := client.Do(request); err == nil {
		response.Body.Close()
	}
	return begun.Load()
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(to []byte) (int, error) { return f(to) }

func metricsOf(t *testing.T, a *app.App) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.AdminURL()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
