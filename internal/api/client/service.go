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

// Service is a client of one service, or of the balancer before several. It sends a request without a final answer (no
// connection, a time-out, 503, or 429 at a rate limit) again: every request may be sent twice. It is safe for concurrent use.
type Service struct {
	client   *Client
	http     *http.Client
	patience time.Duration
}

// NewService returns a client of the service at a base URL. It tries a request again for at most patience. connections is
// how many requests may be in flight at once. The options may include [WithKey].
func NewService(base string, connections int, patience time.Duration, options ...ClientOption) (*Service, error) {
	if u, err := url.Parse(base); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, errors.New("service URL: must be http://HOST:PORT or https://HOST:PORT") // err may quote a password
	}
	doer := &http.Client{Timeout: answerTimeout, Transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		MaxIdleConnsPerHost: connections,
		IdleConnTimeout:     30 * time.Second,
	}}
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

// CreateSKUFrom creates a SKU from the JSON of its properties, which the service checks.
func (s *Service) CreateSKUFrom(ctx context.Context, sku string, properties []byte) (Answer[SKU], error) {
	return ask[SKU](ctx, s, func() (*http.Response, error) {
		return s.client.CreateSKUWithBody(ctx, sku, nil, "application/json", bytes.NewReader(properties))
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

// ask sends a request until an answer is final or patience is over. If no answer was final, it returns the last one.
func ask[T any](ctx context.Context, s *Service, send func() (*http.Response, error)) (Answer[T], error) {
	var last Answer[T]
	notFinal := errors.New("not available")
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 5*time.Millisecond, 500*time.Millisecond
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		response, err := send()
		if err != nil {
			return struct{}{}, err
		}
		defer response.Body.Close()
		last, err = answerOf[T](response)
		if err == nil && (last.Status == http.StatusServiceUnavailable || last.Status == http.StatusTooManyRequests) {
			err = notFinal
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(s.patience))
	if errors.Is(err, notFinal) {
		err = nil
	}
	return last, err
}

// Answer is a final answer: the body of a success, or the problem of a refusal.
type Answer[T any] struct {
	Status  int
	Body    *T
	Problem *Problem
}

// answerOf reads an answer.
func answerOf[T any](response *http.Response) (Answer[T], error) {
	a := Answer[T]{Status: response.StatusCode}
	text, err := io.ReadAll(response.Body)
	switch media := response.Header.Get("Content-Type"); {
	case err != nil:
	case a.Status == http.StatusOK || a.Status == http.StatusCreated:
		err = json.Unmarshal(text, &a.Body)
	case strings.HasPrefix(media, "application/problem+json"):
		err = json.Unmarshal(text, &a.Problem)
	}
	if err != nil {
		return Answer[T]{}, fmt.Errorf("read the answer with status %d: %w", a.Status, err)
	}
	return a, nil
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
