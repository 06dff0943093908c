package openloop

import (
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
		port := map[bool]string{false: "80", true: "443"}[a.secure]
		a.host = net.JoinHostPort(u.Hostname(), port)
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

// append writes a request as it goes over the wire, with the instant until which its answer is waited for.
func (a *address) append(to []byte, r Request, deadline time.Time) []byte {
	to = append(to, r.Method...)
	to = append(append(append(to, ' '), a.path...), r.Path...)
	to = append(append(to, " HTTP/1.1\r\n"...), a.common...)
	to = deadline.UTC().AppendFormat(append(to, "Request-Deadline: "...), time.RFC3339Nano)
	to = append(to, "\r\n"...)
	if r.Body != nil {
		to = append(to, "Content-Type: application/json\r\nContent-Length: "...)
		to = append(strconv.AppendInt(to, int64(len(r.Body)), 10), "\r\n"...)
	}
	return append(append(to, "\r\n"...), r.Body...)
}

// String is the address without what may be secret.
func (a *address) String() string { return fmt.Sprintf("%s (TLS: %t)", a.host, a.secure) }
