package app_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"inventory/internal/app"
)

// TestHTTP2HeadersThatAreNoRequest: a header that HTTP/2 forbids, or that is larger than the settings allow, ends its
// request with a 4xx or a reset, and reaches no handler. Those answers come from net/http and are not problems: the
// OpenAPI document says so. A whole request gets a problem.
func TestHTTP2HeadersThatAreNoRequest(t *testing.T) {
	t.Parallel()
	certFile, keyFile, trusted := certificate(t)
	a := start(t, app.Config{Lock: app.LockNone, TLSCert: certFile, TLSKey: keyFile})
	for name, c := range map[string]struct {
		name, value string
		times       int
		status      string
		mediaType   string
	}{
		"whole":             {"x", "y", 1, "404", "application/problem+json"},
		"of HTTP/1":         {"connection", "close", 1, "400", "text/plain; charset=utf-8"},
		"another te":        {"te", "gzip", 1, "400", "text/plain; charset=utf-8"},
		"upper case":        {"X", "y", 1, "reset", ""},
		"a line break":      {"x", "a\r\nb", 1, "reset", ""},
		"larger than told":  {"x", strings.Repeat("y", 20<<10), 1, "reset", ""},
		"of many fields":    {"x", strings.Repeat("y", 100), 150, "431", "text/html; charset=utf-8"},
		"larger than twice": {"x", strings.Repeat("y", 200<<10), 1, "reset", ""},
	} {
		status, mediaType := sendHTTP2(t, strings.TrimPrefix(a.URL(), "https://"), &tls.Config{RootCAs: trusted, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12},
			slices.Repeat([]hpack.HeaderField{{Name: c.name, Value: c.value}}, c.times))
		if status != c.status || mediaType != c.mediaType {
			t.Errorf("a header %s: %q of the type %q, want %q of %q", name, status, mediaType, c.status, c.mediaType)
		}
	}
}

// sendHTTP2 sends a GET of no route with the given header fields unchanged, over its own connection. It returns the
// status and media type of the answer, or "reset" if the server ended the request or the connection.
func sendHTTP2(t *testing.T, address string, config *tls.Config, fields []hpack.HeaderField) (status, mediaType string) {
	t.Helper()
	conn, err := tls.Dial("tcp", address, config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if err := sendHTTP2Header(conn, framer, fields); err != nil {
		t.Fatal(err)
	}
	for {
		frame, err := framer.ReadFrame()
		if errors.Is(err, io.EOF) {
			return "reset", ""
		}
		if err != nil {
			t.Error(err)
			return "", ""
		}
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			for _, f := range frame.RegularFields() {
				if f.Name == "content-type" {
					mediaType = f.Value
				}
			}
			return frame.PseudoValue("status"), mediaType
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			return "reset", ""
		}
	}
}

// sendHTTP2Header starts a connection, and sends the header of a request in as many frames as it needs.
func sendHTTP2Header(conn io.Writer, framer *http2.Framer, fields []hpack.HeaderField) error {
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		return err
	}
	if err := framer.WriteSettings(); err != nil {
		return err
	}
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	pseudo := []hpack.HeaderField{{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "https"}, {Name: ":authority", Value: "127.0.0.1"}, {Name: ":path", Value: "/none"}}
	for _, f := range append(pseudo, fields...) {
		if err := encoder.WriteField(f); err != nil {
			return err
		}
	}
	const frame = 16 << 10
	first := block.Next(frame)
	if err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: first, EndStream: true, EndHeaders: block.Len() == 0}); err != nil {
		return err
	}
	for block.Len() > 0 {
		next := block.Next(frame)
		if err := framer.WriteContinuation(1, block.Len() == 0, next); err != nil {
			return nil // the server may end the connection before it has read all
		}
	}
	return nil
}
