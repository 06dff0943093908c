package load

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

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
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi":                                                {0, "", false, "unexpected EOF"},
		"HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\nhi":                                               {0, "", false, "no answer in HTTP/1.1: a length"},
		"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n":                                           {0, "", false, "more than 1 MiB"},
		"HTTP/1.1 abc\r\n\r\n":                                                                          {0, "", false, "no answer in HTTP/1.1"},
		"SSH-2.0-OpenSSH\r\n":                                                                           {0, "", false, "no answer in HTTP/1.1"},
		"":                                                                                              {0, "", false, "EOF"},
	} {
		a, err := readAnswer(bufio.NewReader(strings.NewReader(text)), nil)
		if want.err != "" {
			if err == nil || !strings.Contains(err.Error(), want.err) {
				t.Errorf("%q: %v, want an error with %q", text, err, want.err)
			}
			continue
		}
		if err != nil || a.status != want.status || string(a.body) != want.body || a.last != want.last {
			t.Errorf("%q: %d %q %t, %v", text, a.status, a.body, a.last, err)
		}
	}
}

// FuzzAnswer holds what is read of any bytes against net/http, where both can make sense of them.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nhi"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhi"))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := readAnswer(bufio.NewReader(bytes.NewReader(text)), nil)
		if err != nil || len(a.body) > maxBody {
			return
		}
		theirs, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(text)), nil)
		if err != nil {
			return // they are stricter
		}
		defer theirs.Body.Close()
		body, err := io.ReadAll(theirs.Body)
		if err == nil && a.status == theirs.StatusCode && len(theirs.TransferEncoding) == 0 && theirs.ContentLength == int64(len(a.body)) &&
			!bytes.Equal(a.body, body) {
			t.Errorf("%q, and net/http reads %q", a.body, body)
		}
	})
}
