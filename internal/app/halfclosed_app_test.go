package app_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"inventory/internal/app"
)

// TestCallersThatEndTheirSideAreServed: proxies and simple programs end their sending side after a request, and read on. Over
// TLS the end of input is the end of the connection.
func TestCallersThatEndTheirSideAreServed(t *testing.T) {
	t.Parallel()
	address := strings.TrimPrefix(start(t, app.Config{Lock: app.LockNone}).URL(), "http://")
	for i, c := range []struct {
		method, path, body string
		status             int
	}{
		{"PUT", "/v1/skus/lamp", `{"stock":100}`, 201},
		{"GET", "/v1/skus/lamp", "", 200},
		{"POST", "/v1/skus/lamp/deductions", `{"order_id":"o-1","quantity":1}`, 201},
		{"POST", "/v1/skus/lamp/deductions", `{"order_id":"o-1","quantity":1}`, 200},
		{"POST", "/v1/deductions", `{"deductions":[{"sku":"lamp","order_id":"o-2","quantity":1}]}`, 200},
		{"POST", "/v1/orders", `{"order_id":"o-3","lines":[{"sku":"lamp","quantity":1}]}`, 201},
		{"POST", "/v1/skus/lamp/restock", `{"ref":"r","quantity":1}`, 201},
		{"GET", "/v1/skus/lamp/audit", "", 200},
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		request := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", c.method, c.path, len(c.body), c.body)
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		if answer.StatusCode != c.status {
			t.Errorf("%s %s: %s, want %d", c.method, c.path, answer.Status, c.status)
		}
		answer.Body.Close()
		conn.Close()
	}
}

// TestRefusalWaitsShortlyForTheBody: who is refused before its body is read is answered soon, also if the body never comes.
func TestRefusalWaitsShortlyForTheBody(t *testing.T) {
	t.Parallel()
	address := strings.TrimPrefix(start(t, app.Config{Lock: app.LockNone}).URL(), "http://")
	for request, want := range map[string]int{
		"POST /v1/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n":                 404,
		"POST /v1/orders HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\n":                        415,
		"POST /v1/skus/lamp/deductions HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n": 403,
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%q: %v", request, err)
		}
		if took := time.Since(begin); answer.StatusCode != want || took > 2*time.Second {
			t.Errorf("%q: got %s after %s, want %d before the body is waited for", request, answer.Status, took, want)
		}
		answer.Body.Close()
		conn.Close()
	}
}
