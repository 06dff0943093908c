package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http/httputil"
	"strconv"
)

// maxBody is how long an answer's body may be.
const maxBody = 1 << 20

var (
	errTooLong = errors.New("an answer of more than 1 MiB")
	errNoHTTP  = errors.New("no answer in HTTP/1.1")
)

// answer is what came back, its body in memory that the next answer uses again.
type answer struct {
	status int
	body   []byte
	last   bool // the connection ends with it
}

// header is what an answer says of its body.
type header struct {
	length  int // -1: not told
	chunked bool
	close   bool
}

// readAnswer reads an answer. net/http would do, at several times the cost, which the service under test shares.
func readAnswer(r *bufio.Reader, body []byte) (answer, error) {
	status, err := readStatus(r)
	if err != nil {
		return answer{}, err
	}
	h, err := readHeader(r)
	if err != nil {
		return answer{}, err
	}
	a := answer{status: status, last: h.close}
	switch {
	case status == 204 || status == 304:
	case h.chunked:
		a.body, err = readAll(httputil.NewChunkedReader(r), body)
		if err == nil {
			_, err = readHeader(r) // trailers, and the line behind them
		}
	case h.length < 0:
		a.last = true
		a.body, err = readAll(r, body)
	case h.length > maxBody:
		err = errTooLong
	default:
		a.body = append(body[:0], make([]byte, h.length)...)
		_, err = io.ReadFull(r, a.body)
	}
	return a, err
}

// readStatus reads the first line.
func readStatus(r *bufio.Reader) (int, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < len("HTTP/1.1 200") || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return 0, errNoHTTP
	}
	status, err := strconv.Atoi(string(line[9:12]))
	if err != nil {
		return 0, errNoHTTP
	}
	return status, nil
}

var (
	lengthName = []byte("content-length")
	codingName = []byte("transfer-encoding")
	closeName  = []byte("connection")
)

// readHeader reads lines up to an empty one.
func readHeader(r *bufio.Reader) (header, error) {
	h := header{length: -1}
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return h, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			return h, nil
		}
		name, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, lengthName):
			if h.length, err = strconv.Atoi(string(value)); err != nil || h.length < 0 {
				return h, fmt.Errorf("%w: a length of %q", errNoHTTP, value)
			}
		case bytes.EqualFold(name, codingName):
			h.chunked = bytes.EqualFold(value, []byte("chunked"))
		case bytes.EqualFold(name, closeName):
			h.close = bytes.EqualFold(value, []byte("close"))
		}
	}
}

// readAll reads to the end, of no more than maxBody.
func readAll(r io.Reader, body []byte) ([]byte, error) {
	to := bytes.NewBuffer(body[:0])
	n, err := to.ReadFrom(io.LimitReader(r, maxBody+1))
	if err == nil && n > maxBody {
		err = errTooLong
	}
	return to.Bytes(), err
}
