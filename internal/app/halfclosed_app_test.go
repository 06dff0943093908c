package app_test

import (
	"bufio"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"testing"

	"inventory/internal/app"
)

// TestCallersThatEndTheirSideAreServed: proxies and simple programs end their sending side after a request, and read on.
func TestCallersThatEndTheirSideAreServed(t *testing.T) {
	t.Parallel()
	certFile, keyFile, trusted := certificate(t)
	plain := start(t, app.Config{Lock: app.LockNone})
	secure := start(t, app.Config{Lock: app.LockNone, TLSCert: certFile, TLSKey: keyFile})
	for _, to := range []struct {
		url     string
		trusted *x509.CertPool
	}{{plain.URL(), nil}, {secure.URL(), trusted}} {
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
			conn := connect(t, to.url, to.trusted)
			request := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", c.method, c.path, len(c.body), c.body)
			if _, err := io.WriteString(conn, request); err != nil {
				t.Fatal(err)
			}
			if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("%s, request %d: %v", to.url, i, err)
			}
			if answer.StatusCode != c.status {
				t.Errorf("%s %s %s: %s, want %d", to.url, c.method, c.path, answer.Status, c.status)
			}
			answer.Body.Close()
			conn.Close()
		}
	}
}
