package api_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"inventory/internal/busytest"
)

// raw sends the bytes of a request, some of them wrong. Every answer must be HTTP, and every error a problem, unless net/http refused
// what is not yet a request.
func (f *fuzzer) raw() {
	f.t.Helper()
	body := `{"order_id":"raw ` + strconv.Itoa(f.IntN(50)) + `","quantity":1}`
	text := "POST /v1/skus/plenty/deductions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nAuthorization: Bearer " +
		f.credentials[shop] + "\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
	for range 1 + f.IntN(3) {
		text = f.mutate(text, "", "\r\n", "\n", "\r", " ", ":", "\x00", "\xff", "/", "HTTP/9.9", "HTTP/1.0", "Transfer-Encoding: chunked\r\n",
			"Transfer-Encoding: x\r\n", "Expect: x\r\n", "Content-Length: 1\r\n", "Host: b\r\n", "0\r\n\r\n", strings.Repeat("x", 30_000), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	}
	conn, err := (&net.Dialer{}).DialContext(f.t.Context(), "tcp", strings.TrimPrefix(f.url, "http://"))
	if err != nil {
		f.t.Error(err)
		return
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(busytest.Patience)); err != nil {
		f.t.Error(err)
		return
	}
	if _, err := io.WriteString(conn, text); err != nil {
		return // the service cut it off
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		return // the same
	}
	answers := bufio.NewReader(conn)
	for {
		a, err := readAnswer(answers)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !isNetError(err) {
				f.t.Errorf("%.500q: %v", text, err)
			}
			return
		}
		f.tally.count("raw", a.status)
		if a.status >= 400 && !a.isNoRequest() {
			if err := f.hold("application/problem+json", f.problemSchema(), a); err != nil {
				f.t.Errorf("%.500q\n%d %v %s\n%v", text, a.status, a.header, a.body, err)
			}
		}
	}
}

// isNoRequest reports whether net/http has refused what is not yet a request.
func (a answer) isNoRequest() bool {
	return slices.Contains([]int{400, 417, 431, 501, 505}, a.status) && a.header.Get("X-Request-Id") == "" &&
		(a.header.Get("Content-Type") == "text/plain; charset=utf-8" || a.status == http.StatusExpectationFailed)
}

func isNetError(err error) bool {
	_, ok := errors.AsType[*net.OpError](err)
	return ok
}

func readAnswer(from *bufio.Reader) (answer, error) {
	response, err := http.ReadResponse(from, nil)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answer{status: response.StatusCode, header: response.Header, body: string(body)}, err
}
