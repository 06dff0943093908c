package api

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"inventory/internal/stock"
)

// net/http itself writes this to a connection before there is a request that a handler could answer, between a status
// line and the status again as text. A handler's answer has a date and a request id there.
const rawHeader = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// The one that has other headers, for an expectation that is not known, begins with this line.
const expectationLine = "417 Expectation Failed"

const (
	httpVersion = "HTTP/1." // and 0 or 1
	statusLine  = httpVersion + "1 "
)

// RawProblem returns what to write to a connection in place of an answer that net/http has made itself, so that every
// error is a problem. It reports false for any other answer, and for a part of one: a body may hold an order id that looks like
// a status, but JSON has no line breaks inside of it.
func RawProblem(answer []byte) ([]byte, bool) {
	if len(answer) <= len(statusLine)+3 || answer[len(statusLine)] < '4' || !bytes.HasPrefix(answer, []byte(httpVersion)) {
		return nil, false
	}
	end := bytes.IndexByte(answer, '\r')
	if end < 0 {
		return nil, false
	}
	line, rest := string(answer[len(statusLine):end]), answer[end:]
	if line != expectationLine && !bytes.HasPrefix(rest, []byte(rawHeader)) { // no handler gives this answer
		return nil, false
	}
	return rawAnswer(rawError(line)), true
}

// NoTLS returns the answer to a caller that does not use TLS although it must.
func NoTLS() []byte {
	return rawAnswer(&stock.Error{Code: stock.CodeInvalidRequest, Field: "request", Message: "request must be encrypted: this port speaks TLS"})
}

// rawError is the error of a status line.
func rawError(line string) *stock.Error {
	status, _, _ := strings.Cut(line, " ")
	switch status {
	case strconv.Itoa(http.StatusExpectationFailed):
		return &stock.Error{Code: codeExpectation, Message: "the only expectation is 100-continue"}
	case strconv.Itoa(http.StatusRequestHeaderFieldsTooLarge):
		return &stock.Error{Code: codeHeaderTooLarge, Message: "the header of the request is too large"}
	case strconv.Itoa(http.StatusNotImplemented):
		return &stock.Error{Code: codeTransferEncoding, Message: "the only transfer encoding is chunked"}
	case strconv.Itoa(http.StatusHTTPVersionNotSupported):
		return &stock.Error{Code: codeHTTPVersion, Message: "the versions of HTTP are 1.1 and 2"}
	default:
		message := "request is not HTTP"
		if _, why, ok := strings.Cut(line, ": "); ok { // text of net/http, which quotes no input
			message += ": " + why
		}
		return &stock.Error{Code: stock.CodeInvalidRequest, Field: "request", Message: message}
	}
}

// rawAnswer is a problem as a whole answer, after which the connection ends.
func rawAnswer(e *stock.Error) []byte {
	p := problemOf(e)
	body := append(appendProblem(make([]byte, 0, problemSize), p), '\n')
	head := fmt.Sprintf(statusLine+"%d %s\r\nCache-Control: %s\r\nConnection: close\r\nContent-Length: %d\r\nContent-Type: %s\r\n"+
		"Date: %s\r\nX-Content-Type-Options: nosniff\r\nX-Request-Id: %s\r\n\r\n",
		p.status, http.StatusText(p.status), noStore, len(body), mediaProblem, time.Now().UTC().Format(http.TimeFormat), newRequestID())
	return append([]byte(head), body...)
}
