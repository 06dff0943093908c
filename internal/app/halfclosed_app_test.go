package app_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"inventory/internal/app"
)

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
