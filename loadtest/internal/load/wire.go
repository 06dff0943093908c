package load

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// dialLimit is how long a connection may take to come up.
	dialLimit = 2 * time.Second
	// rest is how long a connection may be idle before another takes its place: a server may have closed it, and an order
	// sent into that would never be heard of.
	rest = 30 * time.Second
)

// line asks one thing at a time.
type line interface {
	// ask sends a request and waits for the answer, whose body is good until the next one. Sent tells whether the service may
	// have got the request.
	ask(r Request, hangUp time.Time, tellsDeadline bool) (a answer, sent bool, err error)
	close()
}

// wire is a line over a connection that is kept. net/http would do, with two goroutines more for each connection, and at more
// than twice the cost, which the service under test shares.
type wire struct {
	to         address
	connection net.Conn // nil: none
	reader     *bufio.Reader
	out, in    []byte
	used       time.Time
}

func newWire(base, key string) (line, error) {
	to, err := newAddress(base, key)
	return &wire{to: to}, err
}

// connect makes sure that there is a connection.
func (w *wire) connect() error {
	if w.connection != nil && time.Since(w.used) < rest {
		return nil
	}
	w.close()
	ctx, cancel := context.WithTimeout(context.Background(), dialLimit)
	defer cancel()
	connection, err := w.to.dial(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	w.connection = connection
	if w.reader == nil {
		w.reader = bufio.NewReader(connection)
	}
	w.reader.Reset(connection)
	w.used = time.Now()
	return nil
}

// ask implements line.
func (w *wire) ask(r Request, hangUp time.Time, tellsDeadline bool) (a answer, sent bool, err error) {
	if err := w.connect(); err != nil {
		return answer{}, false, err
	}
	defer func() {
		if err != nil || a.last {
			w.close()
		}
	}()
	deadline := time.Time{}
	if tellsDeadline {
		deadline = hangUp
	}
	w.out = w.to.append(w.out[:0], r, deadline)
	if err := w.connection.SetDeadline(hangUp); err != nil {
		return answer{}, false, fmt.Errorf("bound the connection: %w", err)
	}
	if _, err := w.connection.Write(w.out); err != nil {
		return answer{}, true, fmt.Errorf("send: %w", err)
	}
	if a, err = readAnswer(w.reader, w.in); err != nil {
		return answer{}, true, fmt.Errorf("receive: %w", err)
	}
	w.in, w.used = a.body, time.Now()
	return a, true, nil
}

func (w *wire) close() {
	if w.connection != nil {
		_ = w.connection.Close() // everything that mattered has been read
		w.connection = nil
	}
}

// address is a service that connections lead to.
type address struct {
	host   string // with the port
	secure bool
	path   string // before that of each request
	common string // header lines of every request
}

// newAddress reads a base URL. Its errors do not quote it: it may hold a password.
func newAddress(base, key string) (address, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return address{}, errors.New("service URL: must be http://HOST:PORT or https://HOST:PORT")
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return address{}, errors.New("API key: holds control characters")
	}
	a := address{host: u.Host, secure: u.Scheme == "https", path: strings.TrimRight(u.EscapedPath(), "/")}
	if u.Port() == "" {
		a.host = net.JoinHostPort(u.Hostname(), map[bool]string{false: "80", true: "443"}[a.secure])
	}
	a.common = "Host: " + u.Host + "\r\n"
	switch {
	case key != "":
		a.common += "Authorization: Bearer " + key + "\r\n"
	case u.User != nil:
		password, _ := u.User.Password()
		a.common += "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)) + "\r\n"
	}
	return a, nil
}

// dial connects.
func (a *address) dial(ctx context.Context) (net.Conn, error) {
	var plain net.Dialer
	if !a.secure {
		return plain.DialContext(ctx, "tcp", a.host)
	}
	return (&tls.Dialer{NetDialer: &plain}).DialContext(ctx, "tcp", a.host)
}

// append writes a request as it goes over the wire, with the instant until which its answer is waited for, unless that is zero.
func (a *address) append(to []byte, r Request, deadline time.Time) []byte {
	to = append(to, r.Method...)
	to = append(append(append(to, ' '), a.path...), r.Path...)
	to = append(append(to, " HTTP/1.1\r\n"...), a.common...)
	if !deadline.IsZero() {
		to = deadline.UTC().AppendFormat(append(to, "Request-Deadline: "...), time.RFC3339Nano)
		to = append(to, "\r\n"...)
	}
	switch {
	case r.Body != nil:
		to = append(to, "Content-Type: application/json\r\nContent-Length: "...)
		to = append(strconv.AppendInt(to, int64(len(r.Body)), 10), "\r\n"...)
	case r.Method != "GET":
		to = append(to, "Content-Length: 0\r\n"...)
	}
	return append(append(to, "\r\n"...), r.Body...)
}
