package load

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// TestAnswers has a server answer one request with some bytes, and hang up.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		status int
		body   string
		last   bool
		err    string
	}{
		"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nhi":                                           {201, "hi", false, ""},
		"HTTP/1.1 200 OK\r\ncontent-length:0\r\nConnection: close\r\n\r\n":                              {200, "", true, ""},
		"HTTP/1.1 409 \r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n1;x=y\r\n!\r\n0\r\nT: r\r\n\r\n": {409, "hi!", false, ""},
		"HTTP/1.1 200 OK\r\n\r\nto the end":                                                             {200, "to the end", true, ""},
		"HTTP/1.1 204 No Content\r\n\r\n":                                                               {204, "", false, ""},
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi":                                                {0, "", true, "unexpected EOF"},
		"HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\nhi":                                               {0, "", true, "receive"},
		"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n":                                           {0, "", true, "body size exceeds the given limit"},
		"HTTP/1.1 abc\r\n\r\n":                                                                          {0, "", true, "receive"},
		"SSH-2.0-OpenSSH\r\n":                                                                           {0, "", true, "receive"},
		"":                                                                                              {0, "", true, "EOF"},
	} {
		w := &wire{to: address{host: answering(t, text), name: "x"}}
		a, sent, err := w.ask(Request{Method: "GET", Path: "/"}, time.Now().Add(10*time.Second), false)
		if !sent || (w.connection == nil) != want.last {
			t.Errorf("%q: sent %t, over %t", text, sent, w.connection == nil)
		}
		if want.err != "" {
			if err == nil || !strings.Contains(err.Error(), want.err) {
				t.Errorf("%q: %v, want an error with %q", text, err, want.err)
			}
			continue
		}
		if err != nil || a.status != want.status || string(a.body) != want.body {
			t.Errorf("%q: %d %q, %v", text, a.status, a.body, err)
		}
		w.close()
	}
}

// answering is the address of a server that answers once.
func answering(t *testing.T, text string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		defer listener.Close()
		connection, err := listener.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer connection.Close()
		_, _ = connection.Read(make([]byte, 1024)) // it is one small packet
		_, _ = io.WriteString(connection, text)
	}()
	return listener.Addr().String()
}
