package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Service is a client of one service, or of the balancer before several. Answers are a 200 or 201 with JSON, and a problem with final:
// true. After anything else (no connection, another status, another content type) it sends the same request again: every request may be
// sent twice. It does not wait for the deadline of an attempt that got no answer: until then (20 s) that attempt may still be carried
// out, also after a refusal of the next one. It follows no redirect. It is safe for concurrent use.
type Service struct {
	client   *Client
	http     *http.Client
	patience time.Duration
	// Waits is told why a request is sent again, and after how long; nil: nobody is.
	Waits func(why error, pause time.Duration)
}

// NewService returns a client of the service at a base URL. It tries a request again for at most patience. connections is
// how many requests may be in flight at once. The options may include [WithKey].
func NewService(base string, connections int, patience time.Duration, options ...ClientOption) (*Service, error) {
	if u, err := url.Parse(base); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, errors.New("service URL: must be http://HOST:PORT or https://HOST:PORT") // err may quote a password
	}
	doer := &http.Client{
		Timeout: answerTimeout,
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			MaxIdleConnsPerHost: connections,
			IdleConnTimeout:     30 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // see [redirected]
	}
	c, err := NewClient(base, append([]ClientOption{WithHTTPClient(doer), WithDeadline(answerTimeout)}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("service URL: %w", err)
	}
	return &Service{client: c, http: doer, patience: patience}, nil
}

// answerTimeout is how long the client waits for one answer. A service that works answers sooner.
const answerTimeout = 20 * time.Second

// WithDeadline makes a client send the instant until which it waits: the end of its request's context, at most patience
// from now. A service does not carry out a request that arrives later.
func WithDeadline(patience time.Duration) ClientOption {
	return WithRequestEditorFn(func(ctx context.Context, r *http.Request) error {
		deadline := time.Now().Add(patience)
		if of, ok := ctx.Deadline(); ok && of.Before(deadline) {
			deadline = of
		}
		r.Header.Set("Request-Deadline", deadline.UTC().Format(time.RFC3339Nano))
		return nil
	})
}

// WithKey makes a client send an API key or a token; "" is none.
func WithKey(key string) ClientOption {
	return WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		return nil
	})
}

// Close closes idle connections.
func (s *Service) Close() { s.http.CloseIdleConnections() }

// Deduct takes stock for an order.
func (s *Service) Deduct(ctx context.Context, sku string, order NewDeduction) (Answer[Deduction], error) {
	return ask[Deduction](ctx, s, func() (*http.Response, error) { return s.client.Deduct(ctx, sku, nil, order) })
}

// CreateSKU creates a SKU.
func (s *Service) CreateSKU(ctx context.Context, sku string, body NewSKU) (Answer[SKU], error) {
	return ask[SKU](ctx, s, func() (*http.Response, error) { return s.client.CreateSKU(ctx, sku, nil, body) })
}

// CreateSKUFrom creates a SKU from the JSON of its properties, which the service checks. A dry run is answered alike, and writes nothing.
func (s *Service) CreateSKUFrom(ctx context.Context, sku string, properties []byte, dryRun bool) (Answer[SKU], error) {
	params := &CreateSKUParams{}
	if dryRun { // services of 0.1.0 know no such parameter
		params.DryRun = &dryRun
	}
	return ask[SKU](ctx, s, func() (*http.Response, error) {
		return s.client.CreateSKUWithBody(ctx, sku, params, "application/json", bytes.NewReader(properties))
	})
}

// ReadSKU reads a SKU.
func (s *Service) ReadSKU(ctx context.Context, sku string) (Answer[SKU], error) {
	return ask[SKU](ctx, s, func() (*http.Response, error) { return s.client.ReadSKU(ctx, sku) })
}

// Restock adds units to a SKU.
func (s *Service) Restock(ctx context.Context, sku string, body Restock) (Answer[Restock], error) {
	return ask[Restock](ctx, s, func() (*http.Response, error) { return s.client.Restock(ctx, sku, nil, body) })
}

// errNotFinal ends an attempt that was answered by a problem that is not final.
var errNotFinal = errors.New("not available")

// ask sends a request until there is an answer or patience is over. It returns a problem that is not final if that was the last it got,
// and at once if the key is why: a key does not become right by waiting.
func ask[T any](ctx context.Context, s *Service, send func() (*http.Response, error)) (Answer[T], error) {
	var last Answer[T]
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 5*time.Millisecond, 500*time.Millisecond
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		response, err := send()
		if err != nil {
			return struct{}{}, err
		}
		defer response.Body.Close()
		last, err = answerOf[T](response)
		denied := last.Status == http.StatusUnauthorized || last.Status == http.StatusForbidden
		if err == nil && !last.OK() && !last.Problem.Final && !denied {
			err = errNotFinal
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(s.patience), backoff.WithNotify(func(why error, pause time.Duration) {
		if s.Waits != nil {
			s.Waits(why, pause)
		}
	}))
	if errors.Is(err, errNotFinal) {
		err = nil
	}
	return last, err
}

// Answer is an answer: the body of a success, or the problem of a refusal.
type Answer[T any] struct {
	Status  int
	Body    *T
	Problem *Problem
}

// answerOf reads an answer. Anything else is an error: after a redirect the request is not to be sent again.
func answerOf[T any](response *http.Response) (Answer[T], error) {
	a := Answer[T]{Status: response.StatusCode}
	text, err := io.ReadAll(response.Body)
	media, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
	succeeded := a.Status == http.StatusOK || a.Status == http.StatusCreated
	switch {
	case err != nil:
	case a.Status >= 300 && a.Status < 400:
		return a, backoff.Permanent(redirected(response))
	case succeeded && media == "application/json":
		err = json.Unmarshal(text, &a.Body)
	case !succeeded && media == "application/problem+json":
		err = json.Unmarshal(text, &a.Problem)
	}
	switch {
	case err != nil:
		return Answer[T]{}, fmt.Errorf("read the answer with status %d: %w", a.Status, err)
	case a.Body == nil && a.Problem == nil:
		return Answer[T]{}, fmt.Errorf("status %d with content type %q: that is no answer of the service", a.Status, media)
	}
	return a, nil
}

// redirected is the error of a request that something between here and the service wants to be sent elsewhere. To follow would make a GET
// of it, or give the key to another host.
func redirected(response *http.Response) error {
	target := "nowhere"
	if to, err := response.Location(); err == nil {
		target = to.Redacted()
	}
	return fmt.Errorf("status %d redirects to %q, which is not followed: use the URL of the service itself", response.StatusCode, target)
}

// OK reports whether the request succeeded.
func (a Answer[T]) OK() bool { return a.Body != nil }

// Err returns the problem as an error; nil for a success.
func (a Answer[T]) Err() error {
	if a.OK() {
		return nil
	}
	if a.Problem == nil {
		return fmt.Errorf("status %d without a problem", a.Status)
	}
	return fmt.Errorf("status %d, %s: %s", a.Status, a.Problem.Code, a.Problem.Detail)
}
