package app_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inventory/internal/app"
)

// TestWhatIsNoRequestIsAProblem: the answers of net/http itself are problems as well, on both listeners.
func TestWhatIsNoRequestIsAProblem(t *testing.T) {
	t.Parallel()
	certFile, keyFile, trusted := certificate(t)
	plain := start(t, app.Config{Lock: app.LockNone})
	secure := start(t, app.Config{Lock: app.LockNone, TLSCert: certFile, TLSKey: keyFile})
	for _, to := range []struct {
		url     string
		trusted *x509.CertPool
	}{{plain.URL(), nil}, {plain.AdminURL(), nil}, {secure.URL(), trusted}} {
		for request, want := range map[string]string{
			"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n": "431 header_too_large",
			"GET / HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("X: y\r\n", 16<<10) + "\r\n": "431 header_too_large",
			"GET /" + strings.Repeat("x", 64<<10) + " HTTP/1.1\r\nHost: localhost\r\n\r\n":        "431 header_too_large",

			"GET / HTTP/1.1\r\n\r\n":                                   "400 invalid_request",
			"GET / HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n":     "400 invalid_request",
			"GET / HTTP/1.1\r\nHost: a b\r\n\r\n":                      "400 invalid_request",
			"GET / HTTP/1.1\r\nHost: localhost\r\nbad name: x\r\n\r\n": "400 invalid_request",
			"GET / HTTP/1.1\r\nHost: localhost\r\nX: \x00\r\n\r\n":     "400 invalid_request",
			"GET /v1/skus/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n":     "400 invalid_request",

			"nonsense\r\n\r\n":     "400 invalid_request",
			"\x16\x03\x01\r\n\r\n": "400 invalid_request",

			"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n":                                                 "400 invalid_request",
			"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab":                          "400 invalid_request",
			"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n":                                           "501 unsupported_transfer_encoding",
			"GET / HTTP/3.0\r\nHost: localhost\r\n\r\n":                                                                       "505 unsupported_http_version",
			"POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 200-ok\r\nContent-Length: 0\r\n\r\n":                               "417 expectation_failed",
			"GET / HTTP/1.0\r\nHost: localhost\r\nExpect: 200-ok\r\n\r\n":                                                     "417 expectation_failed",
			"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n":                                                                       "404 not_found",
			"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n":                                                                   "404 not_found",
			"BREW /v1/orders HTTP/1.1\r\nHost: localhost\r\n\r\n":                                                             "405 404",
			"POST /v1/orders HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 999999\r\n\r\n": "413 404",
		} {
			wantRawProblem(t, to.url, to.trusted, request, want)
		}
	}
	wantRawProblem(t, strings.Replace(secure.URL(), "https", "http", 1), nil, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "400 invalid_request")
}

// wantRawProblem sends bytes, and demands one of the statuses, or a status with a code.
func wantRawProblem(t *testing.T, url string, trusted *x509.CertPool, request, want string) {
	t.Helper()
	answer := sendBytes(t, url, trusted, request)
	var problem struct {
		Status int
		Code   string
		Detail string
	}
	err := json.Unmarshal(answer.body, &problem)
	status := fmt.Sprint(answer.status)
	if err != nil || !strings.Contains(want, status) || problem.Status != answer.status || problem.Detail == "" ||
		(len(want) > 7 && want != status+" "+problem.Code) ||
		answer.header.Get("Content-Type") != "application/problem+json" || answer.header.Get("Cache-Control") != "no-store" ||
		(answer.header.Get("X-Request-Id") == "" && answer.status != 404) {
		t.Errorf("%s %.60q: %d %v %s, %v; want %s", url, request, answer.status, answer.header, answer.body, err, want)
	}
}

type answered struct {
	status int
	header http.Header
	body   []byte
}

// sendBytes sends bytes over its own connection, and reads the answer.
func sendBytes(t *testing.T, url string, trusted *x509.CertPool, request string) answered {
	t.Helper()
	scheme, address, _ := strings.Cut(url, "://")
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if scheme == "https" {
		conn = tls.Client(conn, &tls.Config{RootCAs: trusted, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12})
	}
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(conn, request) }() // the server may cut it off
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%s %.60q: %v", url, request, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Errorf("%s %.60q: %v", url, request, err)
	}
	return answered{response.StatusCode, response.Header, body}
}

// TestResetsAreNoFaults: requests that callers reset over HTTP/2, or hang up over HTTP/1, are counted as client_gone, and
// not logged.
func TestResetsAreNoFaults(t *testing.T) {
	t.Parallel()
	certFile, keyFile, trusted := certificate(t)
	log := &lockedBuffer{}
	a := start(t, app.Config{
		Lock: app.LockNone, TLSCert: certFile, TLSKey: keyFile, Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	for _, http2 := range []bool{true, false} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: http2, ExpectContinueTimeout: time.Minute}
		client := &http.Client{Transport: transport}
		var callers sync.WaitGroup
		for i := range 200 {
			callers.Go(func() { hangUp(t, client, a.URL(), i) })
		}
		callers.Wait()
		transport.CloseIdleConnections()
	}
	const counted = `inventory_http_requests_total{code="client_gone",route="/v1/orders",status="499"} `
	var metrics string
	for start := time.Now(); time.Since(start) < 20*time.Second; time.Sleep(20 * time.Millisecond) { // until the last has been noticed
		if metrics = metricsOf(t, a); strings.Contains(metrics, counted+"100\n") {
			break
		}
	}
	for line := range strings.Lines(metrics) {
		failed := strings.Contains(line, `status="50`) || strings.Contains(line, "unavailable")
		if strings.HasPrefix(line, "inventory_http_requests_total") && failed && !strings.HasSuffix(line, " 0\n") {
			t.Error(line)
		}
	}
	if _, after, _ := strings.Cut(metrics, counted); !strings.HasPrefix(after, "100\n") {
		t.Errorf("of 100 callers who hung up are counted: %.10q", after)
	}
	if log.String() != "" {
		t.Errorf("the log says\n%.2000s", log.String())
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

type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

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
