package load

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"inventory/loadtest/internal/history"
)

// Request is an operation as it goes over HTTP.
type Request struct {
	Method string
	Path   string // behind the base URL of the service, with the / it begins with
	Body   []byte // JSON; nil: none
}

// body is that of a request. What is empty is left out.
type body struct {
	OrderID    string         `json:"order_id,omitempty"`
	BuyerID    string         `json:"buyer_id,omitempty"`
	Ref        string         `json:"ref,omitempty"`
	Quantity   int64          `json:"quantity,omitempty"`
	Segments   int64          `json:"segments,omitempty"`
	ReserveFor string         `json:"reserve_for,omitempty"`
	Lines      []history.Line `json:"lines,omitempty"`
	Restock    *bool          `json:"restock,omitempty"`
	IfExpired  string         `json:"if_expired,omitempty"`
}

// NewRequest is the request of an operation. One of several lines goes to the order as a whole.
func NewRequest(o *history.Operation) Request {
	sku, n := "/v1/skus/"+o.Lines[0].SKU, o.Lines[0].Quantity
	one := sku + "/deductions/" + url.PathEscape(o.ID)
	if len(o.Lines) > 1 {
		one = "/v1/orders/" + url.PathEscape(o.ID)
	}
	b := body{OrderID: o.ID, BuyerID: o.Buyer}
	if o.ReserveFor > 0 {
		b.ReserveFor = o.ReserveFor.String()
	}
	switch o.Kind {
	case history.Deduct:
		b.Quantity = n
		return post(sku+"/deductions", b)
	case history.Order:
		b.Lines = o.Lines
		return post("/v1/orders", b)
	case history.Commit:
		if !o.Retake {
			return Request{Method: http.MethodPost, Path: one + "/commit"}
		}
		return post(one+"/commit", body{IfExpired: "retake"})
	case history.Cancel:
		if o.Ref == "" {
			return Request{Method: http.MethodPost, Path: one + "/cancel"}
		}
		return post(one+"/cancel", body{Ref: o.Ref, Quantity: n})
	case history.Extend:
		return post(one+"/extend", body{Ref: o.Ref, ReserveFor: b.ReserveFor})
	case history.Return:
		back := body{Ref: o.Ref, Quantity: n}
		if o.WriteOff {
			back.Restock = new(bool)
		}
		return post(one+"/return", back)
	case history.Restock:
		return post(sku+"/restock", body{Ref: o.ID, Quantity: n})
	case history.Resegment:
		return post(sku+"/resegment", body{Ref: o.ID, Segments: n})
	case history.Read:
		return Request{Method: http.MethodGet, Path: one}
	default:
		return Request{Method: http.MethodGet, Path: sku}
	}
}

func post(path string, b body) Request {
	text, _ := json.Marshal(b) // texts and numbers do not fail
	return Request{http.MethodPost, path, text}
}

const (
	// dialLimit is how long a connection may take to come up.
	dialLimit = 2 * time.Second
	// rest is how long a connection may be idle before a new one replaces it: a server may have closed it, and the outcome of an
	// order sent into it would be unknown.
	rest = 30 * time.Second
)

// maxBody is how long an answer's body may be.
const maxBody = 1 << 20

// line sends one request at a time.
type line interface {
	// ask sends a request and waits for the answer. sent reports whether the service may have got the request.
	ask(r Request, hangUp time.Time, tellsDeadline bool) (a answer, sent bool, err error)
	close()
}

// answer is what came back.
type answer struct {
	status int
	body   []byte
}

// wire is a line over a connection that is kept. fasthttp costs a small part of what net/http does, of processors that the
// service under test shares.
type wire struct {
	to         address
	connection net.Conn // nil: none
	reader     *bufio.Reader
	writer     *bufio.Writer
	request    fasthttp.Request
	response   fasthttp.Response
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
	dial := (&net.Dialer{}).DialContext
	if w.to.secure {
		dial = (&tls.Dialer{}).DialContext
	}
	connection, err := dial(ctx, "tcp", w.to.host)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	w.connection, w.reader, w.writer = connection, bufio.NewReader(connection), bufio.NewWriter(connection)
	return nil
}

// ask implements line.
func (w *wire) ask(r Request, hangUp time.Time, tellsDeadline bool) (a answer, sent bool, err error) {
	if err := w.connect(); err != nil {
		return answer{}, false, err
	}
	defer func() {
		if err != nil || w.response.ConnectionClose() {
			w.close()
		}
	}()
	w.prepare(r)
	if tellsDeadline {
		w.request.Header.Set("Request-Deadline", hangUp.UTC().Format(time.RFC3339Nano))
	}
	if err := w.connection.SetDeadline(hangUp); err != nil {
		return answer{}, false, fmt.Errorf("bound the connection: %w", err)
	}
	if err := errors.Join(w.request.Write(w.writer), w.writer.Flush()); err != nil {
		return answer{}, true, fmt.Errorf("send: %w", err)
	}
	if err := w.response.ReadLimitBody(w.reader, maxBody); err != nil {
		return answer{}, true, fmt.Errorf("receive: %w", err)
	}
	w.used = time.Now()
	return answer{w.response.StatusCode(), bytes.Clone(w.response.Body())}, true, nil
}

// prepare has the request as it goes over the wire.
func (w *wire) prepare(r Request) {
	w.request.Reset()
	w.request.SetBodyRaw(r.Body)
	h := &w.request.Header
	h.SetNoDefaultContentType(true)
	h.SetMethod(r.Method)
	h.SetRequestURI(w.to.path + r.Path)
	h.SetHost(w.to.name)
	if w.to.authorization != "" {
		h.Set("Authorization", w.to.authorization)
	}
	if r.Body != nil {
		h.SetContentType("application/json")
	}
}

func (w *wire) close() {
	if w.connection != nil {
		_ = w.connection.Close() // everything that mattered has been read
		w.connection = nil
	}
}

// address is a service that connections lead to.
type address struct {
	host          string // with the port
	name          string // as requests have it
	secure        bool
	path          string // before that of each request
	authorization string // "": none
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
	a := address{name: u.Host, secure: u.Scheme == "https", path: strings.TrimRight(u.EscapedPath(), "/")}
	a.host = fasthttp.AddMissingPort(u.Host, a.secure)
	switch {
	case key != "":
		a.authorization = "Bearer " + key
	case u.User != nil:
		password, _ := u.User.Password()
		a.authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))
	}
	return a, nil
}
