package app_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"inventory/internal/app"
)

// TestWhoStillSendsIsAnswered: a caller that is answered before it has sent everything may send the rest. Its
// connection is not reset meanwhile, because that might cost it the answer.
func TestWhoStillSendsIsAnswered(t *testing.T) {
	t.Parallel()
	const size = 5 << 20
	certFile, keyFile, trusted := certificate(t)
	plain := start(t, app.Config{Lock: app.LockNone})
	secure := start(t, app.Config{Lock: app.LockNone, TLSCert: certFile, TLSKey: keyFile})
	body := fmt.Sprintf("Host: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", size)
	for name, c := range map[string]struct {
		head   string
		status int
	}{
		"a large body":                    {"POST /v1/orders HTTP/1.1\r\n" + body + "\r\n", 413},
		"a large body, and then no more":  {"POST /v1/orders HTTP/1.1\r\nConnection: close\r\n" + body + "\r\n", 413},
		"a large body, over HTTP/1.0":     {"POST /v1/orders HTTP/1.0\r\n" + body + "\r\n", 413},
		"a body for nobody, then no more": {"POST /nowhere HTTP/1.1\r\nConnection: close\r\n" + body + "\r\n", 404},
		"a large header":                  {"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 64<<10), 431},
	} {
		for _, to := range []struct {
			url     string
			trusted *x509.CertPool
		}{{plain.URL(), nil}, {secure.URL(), trusted}} {
			conn := connect(t, to.url, to.trusted)
			if err := sendMore(conn, c.head, c.status, bytes.Repeat([]byte("x"), size)); err != nil {
				t.Errorf("%s: %s: %v", to.url, name, err)
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestWhoDoesNotEncryptIsAnswered: also a caller with a long request.
func TestWhoDoesNotEncryptIsAnswered(t *testing.T) {
	t.Parallel()
	certFile, keyFile, _ := certificate(t)
	a := start(t, app.Config{Lock: app.LockNone, TLSCert: certFile, TLSKey: keyFile})
	conn := connect(t, strings.Replace(a.URL(), "https", "http", 1), nil)
	defer conn.Close()
	if err := sendMore(conn, "POST /v1/orders HTTP/1.1\r\n", http.StatusBadRequest, make([]byte, 5<<20)); err != nil {
		t.Error(err)
	}
}

// sendMore sends the head of a request, reads the answer, and sends the rest. Then the service must end the connection.
func sendMore(conn net.Conn, head string, status int, rest []byte) error {
	if _, err := io.WriteString(conn, head); err != nil {
		return err
	}
	answer := bufio.NewReader(conn)
	response, err := http.ReadResponse(answer, nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil || response.StatusCode != status {
		return fmt.Errorf("answered with %s, %w", response.Status, err)
	}
	if sent, err := conn.Write(rest); err != nil {
		return fmt.Errorf("after %d bytes more: %w", sent, err)
	}
	if _, err := answer.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("the connection does not end: %w", err)
	}
	return nil
}

// connect opens a connection.
func connect(t *testing.T, url string, trusted *x509.CertPool) net.Conn {
	t.Helper()
	scheme, address, _ := strings.Cut(url, "://")
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if scheme == "https" {
		conn = tls.Client(conn, &tls.Config{RootCAs: trusted, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12})
	}
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestWhoSendsWithoutEndIsCutOff: the service reads from no caller for longer than the bounds.
func TestWhoSendsWithoutEndIsCutOff(t *testing.T) {
	t.Parallel()
	a := start(t, app.Config{Lock: app.LockNone})
	for _, connection := range []string{"", "Connection: close\r\n"} {
		conn := connect(t, a.URL(), nil)
		_, err := io.WriteString(conn, "POST /v1/orders HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+connection+"Content-Length: 999999999999\r\n\r\n")
		if err != nil {
			t.Fatal(err)
		}
		piece, sent := make([]byte, 1<<20), 0
		for err == nil && sent < 1<<30 {
			var n int
			n, err = conn.Write(piece)
			sent += n
		}
		if sent >= 1<<30 || errors.Is(err, net.ErrClosed) || isTimeout(err) {
			t.Errorf("%q: %d bytes were taken: %v", connection, sent, err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}

func isTimeout(err error) bool {
	timeout, is := errors.AsType[net.Error](err)
	return is && timeout.Timeout()
}
