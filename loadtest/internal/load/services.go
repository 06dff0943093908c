package load

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/valyala/fasthttp"

	"inventory/internal/api/client"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/target"
)

// The defaults of a Config.
const (
	DefaultMaxLag   = time.Second
	DefaultPatience = 10 * time.Second
)

// Config says how requests are sent. The zero value of each field but URLs is usable.
type Config struct {
	URLs        []string                 // base URLs of services that share a database; connections are spread over them
	URL         func(process int) string // base URLs that change; nil: they do not
	Key         string                   // API key; "": none is shown
	TLS         *tls.Config              // nil: that of the system
	Connections int                      // in an open loop
	MaxLag      time.Duration            // in an open loop, a request that would be sent later after its time is dropped; 0: DefaultMaxLag
	Patience    time.Duration            // for an answer, from when a request was sent; 0: DefaultPatience
	Promise     history.Promise          // decides when a refusal is final
}

// Services are processes of the service, and connections to them.
type Services struct {
	Config
	ask    func(base string, r Request, hangUp time.Time, tellsDeadline bool) (status int, body []byte, err error)
	client fasthttp.Client
}

// Open checks the addresses. Its errors do not quote them: they may hold passwords. The caller closes the services.
func Open(c Config) (*Services, error) {
	if len(c.URLs) == 0 {
		return nil, errors.New("no URL of a service")
	}
	if strings.ContainsFunc(c.Key, unicode.IsControl) {
		return nil, errors.New("API key: holds control characters")
	}
	c.MaxLag, c.Patience = cmp.Or(c.MaxLag, DefaultMaxLag), cmp.Or(c.Patience, DefaultPatience)
	c.URLs = slices.Clone(c.URLs)
	for i, base := range c.URLs {
		u, err := target.Parse(base)
		if err != nil {
			return nil, fmt.Errorf("service URL: %w", err)
		}
		if c.Key != "" { // it stands in for a user
			u.User = nil
		}
		c.URLs[i] = strings.TrimRight(u.String(), "/")
	}
	if c.URL == nil {
		c.URL = func(process int) string { return c.URLs[process] }
	}
	s := &Services{Config: c, client: newClient(c.TLS)}
	s.ask = s.overHTTP
	return s, nil
}

// Close ends the connections, when nothing is under way.
func (s *Services) Close() { s.client.CloseIdleConnections() }

// try sends a request to a process, once, and hangs up when the patience ends.
func (s *Services) try(process int, r Request, tellsDeadline bool) history.Attempt {
	a := history.Attempt{Process: process, Sent: time.Now()}
	hangUp := a.Sent.Add(s.Patience)
	if tellsDeadline {
		a.Deadline = hangUp
	}
	status, body, err := s.ask(s.URL(process), r, hangUp, tellsDeadline)
	a.Ended, a.Err, a.NotSent = time.Now(), err, errors.Is(err, errUnreached)
	if err == nil {
		a.Answer = newAnswer(status, body)
	}
	return a
}

// Send sends a request to a process, once.
func (s *Services) Send(process int, r Request) (status int, body []byte, err error) {
	return s.ask(s.URL(process), r, time.Now().Add(s.Patience), false)
}

// newAnswer reads the body of an answer to any request.
func newAnswer(status int, text []byte) history.Answer {
	type deduction struct {
		SKU      string    `json:"sku"`
		Status   any       `json:"status"`       // of a deduction, or of a problem
		Ended    string    `json:"order_status"` // of a deduction, in a problem
		Quantity int64     `json:"quantity"`
		Expires  time.Time `json:"expires_at"`
	}
	state := func(d deduction) string {
		told, _ := d.Status.(string) // a problem's is a number
		return cmp.Or(told, d.Ended)
	}
	var said struct {
		deduction
		Code  client.Code `json:"code"`
		Lines []deduction `json:"lines"`     // of an order
		Left  int64       `json:"available"` // of a SKU
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return history.Answer{Status: status}
	}
	a := history.Answer{Status: status, Code: said.Code, State: state(said.deduction), Quantity: said.Quantity, Expires: said.Expires, Left: said.Left}
	for i, line := range said.Lines {
		if i == 0 {
			a.State, a.Quantity, a.States = "", 0, make(history.States)
		}
		a.States[line.SKU] = state(line)
		a.Quantity += line.Quantity
		a.Expires = line.Expires
	}
	return a
}

// whyNot is an attempt that came to nothing, as an error.
func whyNot(a history.Attempt) error {
	return cmp.Or(a.Err, fmt.Errorf("status %d, %s", a.Answer.Status, a.Answer.Code))
}

// Create puts a SKU up for sale.
func (s *Services) Create(ctx context.Context, sku string, n client.NewSKU) error {
	body, err := json.Marshal(n)
	if err != nil {
		return err
	}
	attempts, err := s.askOn(ctx, Request{Method: http.MethodPut, Path: "/v1/skus/" + sku, Body: body}, Persistence{})
	if last := attempts[len(attempts)-1]; err == nil && !last.Answer.Accepted() {
		err = whyNot(last)
	}
	if err != nil {
		return fmt.Errorf("put SKU %s up for sale: %w", sku, err)
	}
	return nil
}

// Look reads how many units of a SKU are left, and whether it is known.
func (s *Services) Look(ctx context.Context, sku string) (left int64, known bool, err error) {
	o := history.Operation{Kind: history.Look, Lines: []history.Line{{SKU: sku}}}
	a, err := s.Ask(ctx, &o, Persistence{})
	if err == nil && !a.Accepted() && a.Status != http.StatusNotFound {
		err = whyNot(o.Last())
	}
	if err != nil {
		return 0, false, fmt.Errorf("read SKU %s: %w", sku, err)
	}
	return a.Left, a.Accepted(), nil
}

// Persistence is how a caller asks until the answer is final. The zero value asks all processes in turn, for
// DefaultPersistence.
type Persistence struct {
	First  int                  // the process that gets the first request
	Next   func(before int) int // the one after; nil: the next one
	Silent bool                 // no deadline is sent along
	For    time.Duration        // no attempt begins later than this; 0: DefaultPersistence
	Pause  func() time.Duration // before the next request; nil: a tenth of a second
	Finish bool                 // the end of the context ends it only if there is no answer at all
}

// DefaultPersistence is how long a caller repeats requests without a final answer.
const DefaultPersistence = 20 * time.Second

// ErrNoAnswer says that no answer was final for as long as the caller repeated its request.
var ErrNoAnswer = errors.New("no final answer")

// Ask does an operation: it asks until the answer is final, and notes each attempt. A refusal is final if all attempts before it
// were over.
func (s *Services) Ask(ctx context.Context, o *history.Operation, p Persistence) (history.Answer, error) {
	attempts, err := s.askOn(ctx, NewRequest(o), p, o.Attempts...)
	if o.Attempts = attempts; err != nil {
		return history.Answer{}, err
	}
	return o.Last().Answer, nil
}

// askOn repeats requests until the answer is final, after some attempts.
func (s *Services) askOn(ctx context.Context, r Request, p Persistence, attempts ...history.Attempt) ([]history.Attempt, error) {
	began, process, waiting := time.Now(), p.First, ctx
	if p.Finish {
		waiting = context.WithoutCancel(ctx)
	}
	for {
		before := s.Promise.Over(attempts)
		a := s.try(process, r, !p.Silent)
		attempts = append(attempts, a)
		pause := 100 * time.Millisecond
		if p.Pause != nil {
			pause = p.Pause()
		}
		switch {
		case a.Answer.Status == http.StatusConflict && before.After(a.Sent):
			pause = time.Until(before) + time.Millisecond
		case a.Answer.Accepted() || a.Answer.Refused():
			return attempts, nil
		}
		over := time.Since(began)+pause > cmp.Or(p.For, DefaultPersistence)
		if over || !Sleep(waiting, pause) || ctx.Err() != nil && a.Err != nil {
			return attempts, fmt.Errorf("%w: %w", ErrNoAnswer, whyNot(a))
		}
		process = (process + 1) % len(s.URLs)
		if p.Next != nil {
			process = p.Next(a.Process)
		}
	}
}

// Sleep waits. It reports false if ctx ends before.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// Request is an operation as it goes over HTTP.
type Request struct {
	Method string
	Path   string // behind the base URL of the service, with the / it begins with
	Body   []byte // JSON; nil: none
	Key    string // a key or token; "": that of the services
	Last   bool   // the connection ends with the answer
}

// body is that of a request. Empty fields are left out.
type body struct {
	OrderID    string         `json:"order_id,omitempty"`
	BuyerID    string         `json:"buyer_id,omitempty"`
	Ref        string         `json:"ref,omitempty"`
	Quantity   int64          `json:"quantity,omitempty"`
	Segments   int64          `json:"segments,omitempty"`
	ReserveFor string         `json:"reserve_for,omitempty"`
	Lines      []history.Line `json:"lines,omitempty"`
	Restock    *bool          `json:"restock,omitempty"`
	IfEnded    string         `json:"if_ended,omitempty"`
}

// NewRequest is the request of an operation. One of several lines goes to the order as a whole.
func NewRequest(o *history.Operation) Request {
	sku, n := "/v1/skus/"+o.Lines[0].SKU, o.Lines[0].Quantity
	one := sku + "/deductions/" + url.PathEscape(o.ID)
	if o.Whole() {
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
		var commit body
		if o.Retake {
			commit.IfEnded = "retake"
		}
		if o.Only {
			commit.Lines = o.Lines
		}
		if !o.Retake && !o.Only {
			return Request{Method: http.MethodPost, Path: one + "/commit"}
		}
		return post(one+"/commit", commit)
	case history.Change:
		change := body{Ref: o.Ref, Lines: o.Lines, BuyerID: o.Hands}
		if o.WriteOff {
			change.Restock = new(bool)
		}
		return post(one+"/change", change)
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
	return Request{Method: http.MethodPost, Path: path, Body: text}
}

const (
	// dialLimit is how long a connection may take to come up.
	dialLimit = 2 * time.Second
	// rest is how long a connection may be idle before a new one replaces it: a server may have closed it, and the outcome of an
	// order sent into it would be unknown.
	rest = 30 * time.Second
	// maxBody is how long an answer's body may be.
	maxBody = 1 << 20
)

// errUnreached says that there was no connection: nothing was sent.
var errUnreached = errors.New("connect")

// newClient keeps its connections. fasthttp costs a small part of what net/http does, of processors that the service under test
// shares.
func newClient(encryption *tls.Config) fasthttp.Client {
	return fasthttp.Client{
		MaxConnsPerHost: math.MaxInt, MaxIdleConnDuration: rest, MaxResponseBodySize: maxBody, MaxIdemponentCallAttempts: 1,
		DisablePathNormalizing: true, NoDefaultUserAgentHeader: true,
		ConfigureClient: func(to *fasthttp.HostClient) error {
			to.Dial = func(address string) (connection net.Conn, err error) {
				dialer := &net.Dialer{Timeout: dialLimit}
				if to.IsTLS {
					connection, err = tls.DialWithDialer(dialer, "tcp", address, encryption)
				} else {
					connection, err = dialer.Dial("tcp", address)
				}
				if err != nil {
					return nil, fmt.Errorf("%w: %w", errUnreached, err)
				}
				return connection, nil
			}
			return nil
		},
	}
}

// overHTTP sends a request and waits for the answer. With [errUnreached] the service cannot have got the request.
func (s *Services) overHTTP(base string, r Request, hangUp time.Time, tellsDeadline bool) (status int, body []byte, err error) {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.SetRequestURI(base + r.Path)
	request.SetBodyRaw(r.Body)
	h := &request.Header
	h.SetMethod(r.Method)
	h.SetNoDefaultContentType(true)
	if key := cmp.Or(r.Key, s.Key); key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
	if r.Last {
		h.SetConnectionClose()
	}
	if r.Body != nil {
		h.SetContentType("application/json")
	}
	if tellsDeadline {
		h.Set("Request-Deadline", hangUp.UTC().Format(time.RFC3339Nano))
	}
	if err := s.client.DoDeadline(request, response, hangUp); err != nil {
		return 0, nil, err
	}
	return response.StatusCode(), bytes.Clone(response.Body()), nil
}
