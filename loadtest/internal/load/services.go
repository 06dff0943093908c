package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"time"

	"inventory/internal/api/client"
	"inventory/loadtest/internal/history"
)

// The defaults of a Config.
const (
	DefaultConnections = 128
	DefaultMaxLag      = time.Second
	DefaultPatience    = 10 * time.Second
)

// Config says how requests are sent. The zero value of each field but URLs is usable.
type Config struct {
	URLs        []string                 // base URLs of services that share a database; connections are spread over them
	URL         func(process int) string // where they are now, if that changes; nil: where they were
	Key         string                   // API key; "": none is shown
	Connections int                      // 0: DefaultConnections
	MaxLag      time.Duration            // in an open loop, a request that would be sent later after its time is dropped; 0: DefaultMaxLag
	Patience    time.Duration            // for an answer, from when a request was sent; 0: DefaultPatience
	Promise     history.Promise          // tells when a refusal is final
}

// Services are processes of the service, and connections to them.
type Services struct {
	Config
	http *http.Client
}

const (
	// dialLimit is how long a connection may take to come up.
	dialLimit = 2 * time.Second
	// rest is how long a connection may be idle before another takes its place: a server may have closed it.
	rest = 30 * time.Second
	// maxBody is how long an answer's body may be.
	maxBody = 1 << 20
)

// Open makes sure that the addresses are some. Its errors do not quote them: they may hold passwords. Whoever opens services
// closes them.
func Open(c Config) (*Services, error) {
	if len(c.URLs) == 0 {
		return nil, errors.New("no URL of a service")
	}
	for _, base := range c.URLs {
		if u, err := url.Parse(base); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, errors.New("service URL: must be http://HOST:PORT or https://HOST:PORT")
		}
	}
	if c.Connections == 0 {
		c.Connections = DefaultConnections
	}
	if c.MaxLag == 0 {
		c.MaxLag = DefaultMaxLag
	}
	if c.Patience == 0 {
		c.Patience = DefaultPatience
	}
	if c.URL == nil {
		c.URL = func(process int) string { return c.URLs[process] }
	}
	return &Services{c, &http.Client{Transport: &http.Transport{
		DialContext: (&net.Dialer{Timeout: dialLimit}).DialContext, TLSHandshakeTimeout: dialLimit, DisableCompression: true,
		MaxIdleConns: 0, MaxIdleConnsPerHost: c.Connections, IdleConnTimeout: rest,
	}}}, nil
}

// Close ends the connections.
func (s *Services) Close() { s.http.CloseIdleConnections() }

// Try sends a request to a process, once, and hangs up when the patience ends. The error is that there was no answer.
func (s *Services) Try(ctx context.Context, process int, r Request, tellsDeadline bool) (history.Attempt, error) {
	a := history.Attempt{Process: process, NotSent: true, Sent: time.Now()}
	hangUp := a.Sent.Add(s.Patience)
	ctx, cancel := context.WithDeadline(ctx, hangUp)
	defer cancel()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { a.NotSent = false }})
	request, err := http.NewRequestWithContext(ctx, r.Method, s.URL(process)+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return a, withoutURL(err)
	}
	if r.Body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if s.Key != "" {
		request.Header.Set("Authorization", "Bearer "+s.Key)
	}
	if tellsDeadline {
		a.Deadline = hangUp
		request.Header.Set("Request-Deadline", hangUp.UTC().Format(time.RFC3339Nano))
	}
	a.Answer, err = s.answer(request)
	a.Ended = time.Now()
	return a, err
}

// answer sends a request and reads the answer. Where there is none it is the zero Answer.
func (s *Services) answer(request *http.Request) (history.Answer, error) {
	response, err := s.http.Do(request)
	if err != nil {
		return history.Answer{}, withoutURL(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err != nil {
		return history.Answer{}, fmt.Errorf("receive: %w", err)
	}
	return newAnswer(response.StatusCode, text), nil
}

// newAnswer reads what the body of an answer says, whatever was asked for.
func newAnswer(status int, text []byte) history.Answer {
	type deduction struct {
		Status   any       `json:"status"` // of a deduction, or of a problem
		Quantity int64     `json:"quantity"`
		Expires  time.Time `json:"expires_at"`
	}
	var said struct {
		deduction
		Code  string      `json:"code"`
		Lines []deduction `json:"lines"` // of an order
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return history.Answer{Status: status} // that is what it says
	}
	of := said.deduction
	for _, line := range said.Lines {
		of.Status, of.Quantity = line.Status, of.Quantity+line.Quantity
	}
	state, _ := of.Status.(string) // a problem's is a number
	return history.Answer{Status: status, Code: said.Code, State: state, Quantity: of.Quantity, Expires: of.Expires}
}

// withoutURL takes the URL, which may hold secrets, out of an error of an HTTP client.
func withoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// problem is an answer as an error.
func problem(a history.Answer) error { return fmt.Errorf("status %d, %s", a.Status, a.Code) }

// Create puts a SKU up for sale.
func (s *Services) Create(ctx context.Context, sku string, n client.NewSKU) error {
	body, err := json.Marshal(n)
	if err == nil {
		var a []history.Attempt
		a, err = s.ask(ctx, Request{http.MethodPut, "/v1/skus/" + sku, body}, Persistence{})
		if err == nil && !a[len(a)-1].Answer.Accepted() {
			err = problem(a[len(a)-1].Answer)
		}
	}
	if err != nil {
		return fmt.Errorf("put SKU %s up for sale: %w", sku, err)
	}
	return nil
}

// Exists tells whether there is a SKU.
func (s *Services) Exists(ctx context.Context, sku string) (bool, error) {
	a, err := s.Ask(ctx, &history.Operation{Kind: history.Look, Lines: []history.Line{{SKU: sku}}}, Persistence{})
	if err == nil && !a.Accepted() && a.Status != http.StatusNotFound {
		err = problem(a)
	}
	if err != nil {
		return false, fmt.Errorf("read SKU %s: %w", sku, err)
	}
	return a.Accepted(), nil
}

// Get reads what a process has behind a path.
func (s *Services) Get(ctx context.Context, process int, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, s.Patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL(process)+path, nil)
	if err != nil {
		return withoutURL(err)
	}
	if s.Key != "" {
		request.Header.Set("Authorization", "Bearer "+s.Key)
	}
	response, err := s.http.Do(request)
	if err != nil {
		return withoutURL(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	return json.NewDecoder(response.Body).Decode(into)
}
