package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Fleet is a client of several processes that serve the same stock. It spreads requests over them. It sends a request
// without a final answer (no connection, a time-out, 503) again, to the next process: every request may be sent twice. It
// is safe for concurrent use.
type Fleet struct {
	processes []*ClientWithResponses
	next      atomic.Uint64
	patience  time.Duration
}

// NewFleet returns a client of the processes at the base URLs. It tries a request again for at most patience.
// connections is how many requests may be in flight at once. The options may include [WithKey].
func NewFleet(urls []string, connections int, patience time.Duration, given ...ClientOption) (*Fleet, error) {
	if len(urls) == 0 {
		return nil, errors.New("no URL of a service")
	}
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		MaxIdleConnsPerHost: connections,
		IdleConnTimeout:     30 * time.Second,
	}
	doer := &http.Client{Transport: transport, Timeout: answerTimeout}
	with := append([]ClientOption{WithHTTPClient(doer), WithDeadline(answerTimeout)}, given...)
	f := &Fleet{patience: patience}
	for _, base := range urls {
		if u, err := url.Parse(base); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return nil, errors.New("service URL: must be http://HOST:PORT or https://HOST:PORT") // err may quote a password
		}
		c, err := NewClientWithResponses(base, with...)
		if err != nil {
			return nil, fmt.Errorf("service URL: %w", err)
		}
		f.processes = append(f.processes, c)
	}
	return f, nil
}

// answerTimeout is how long the fleet waits for one process. A process that works answers sooner.
const answerTimeout = 20 * time.Second

// WithDeadline makes a client send the instant until which it waits: the end of its request's context, at most patience
// from now. A process does not carry out a request that arrives later.
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
func (f *Fleet) Close() {
	for _, p := range f.processes {
		if client, ok := p.ClientInterface.(*Client); ok {
			if doer, ok := client.Client.(*http.Client); ok {
				doer.CloseIdleConnections()
			}
		}
	}
}

// Answer is a final answer: the body of a success, or the problem of a refusal.
type Answer[T any] struct {
	Status  int
	Body    *T
	Problem *Problem
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

// Deduct takes stock for an order.
func (f *Fleet) Deduct(ctx context.Context, sku string, order NewDeduction) (Answer[Deduction], error) {
	return again(ctx, f, func(p *ClientWithResponses) (Answer[Deduction], error) {
		r, err := p.DeductWithResponse(ctx, sku, nil, order)
		if err != nil {
			return Answer[Deduction]{}, err
		}
		return Answer[Deduction]{r.StatusCode(), first(r.JSON201, r.JSON200), first(
			r.ApplicationProblemJSON400, r.ApplicationProblemJSON401, r.ApplicationProblemJSON403, r.ApplicationProblemJSON404,
			r.ApplicationProblemJSON408, r.ApplicationProblemJSON409, r.ApplicationProblemJSON410, r.ApplicationProblemJSON413, r.ApplicationProblemJSON415,
			r.ApplicationProblemJSON422, r.ApplicationProblemJSON429, r.ApplicationProblemJSON503,
		)}, nil
	})
}

// PlaceOrder takes stock of several SKUs, all or nothing.
func (f *Fleet) PlaceOrder(ctx context.Context, order NewOrder) (Answer[Order], error) {
	return again(ctx, f, func(p *ClientWithResponses) (Answer[Order], error) {
		r, err := p.PlaceOrderWithResponse(ctx, nil, order)
		if err != nil {
			return Answer[Order]{}, err
		}
		return Answer[Order]{r.StatusCode(), first(r.JSON201, r.JSON200), first(
			r.ApplicationProblemJSON400, r.ApplicationProblemJSON401, r.ApplicationProblemJSON403, r.ApplicationProblemJSON404,
			r.ApplicationProblemJSON408, r.ApplicationProblemJSON409, r.ApplicationProblemJSON410, r.ApplicationProblemJSON413, r.ApplicationProblemJSON415,
			r.ApplicationProblemJSON422, r.ApplicationProblemJSON429, r.ApplicationProblemJSON503,
		)}, nil
	})
}

// CreateSKU creates a SKU.
func (f *Fleet) CreateSKU(ctx context.Context, sku string, body NewSKU) (Answer[SKU], error) {
	return again(ctx, f, func(p *ClientWithResponses) (Answer[SKU], error) {
		r, err := p.CreateSKUWithResponse(ctx, sku, nil, body)
		if err != nil {
			return Answer[SKU]{}, err
		}
		return Answer[SKU]{r.StatusCode(), first(r.JSON201, r.JSON200), first(
			r.ApplicationProblemJSON400, r.ApplicationProblemJSON401, r.ApplicationProblemJSON403, r.ApplicationProblemJSON409,
			r.ApplicationProblemJSON413, r.ApplicationProblemJSON415, r.ApplicationProblemJSON429, r.ApplicationProblemJSON503,
		)}, nil
	})
}

// ReadSKU reads a SKU.
func (f *Fleet) ReadSKU(ctx context.Context, sku string) (Answer[SKU], error) {
	return again(ctx, f, func(p *ClientWithResponses) (Answer[SKU], error) {
		r, err := p.ReadSKUWithResponse(ctx, sku)
		if err != nil {
			return Answer[SKU]{}, err
		}
		return Answer[SKU]{r.StatusCode(), r.JSON200, first(
			r.ApplicationProblemJSON400, r.ApplicationProblemJSON401, r.ApplicationProblemJSON404,
			r.ApplicationProblemJSON429, r.ApplicationProblemJSON503,
		)}, nil
	})
}

// Restock adds units to a SKU.
func (f *Fleet) Restock(ctx context.Context, sku string, body Restock) (Answer[Restock], error) {
	return again(ctx, f, func(p *ClientWithResponses) (Answer[Restock], error) {
		r, err := p.RestockWithResponse(ctx, sku, nil, body)
		if err != nil {
			return Answer[Restock]{}, err
		}
		return Answer[Restock]{r.StatusCode(), first(r.JSON201, r.JSON200), first(
			r.ApplicationProblemJSON400, r.ApplicationProblemJSON401, r.ApplicationProblemJSON403, r.ApplicationProblemJSON404,
			r.ApplicationProblemJSON413, r.ApplicationProblemJSON415, r.ApplicationProblemJSON422, r.ApplicationProblemJSON429,
			r.ApplicationProblemJSON503,
		)}, nil
	})
}

// again sends a request to one process after the other until an answer is final or patience is over. If all answers were
// 503, it returns the last one.
func again[T any](ctx context.Context, f *Fleet, ask func(*ClientWithResponses) (Answer[T], error)) (Answer[T], error) {
	var last Answer[T]
	ask503 := errors.New("not available")
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 5*time.Millisecond, 500*time.Millisecond
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		p := f.processes[f.next.Add(1)%uint64(len(f.processes))]
		var err error
		if last, err = ask(p); err == nil && last.Status == http.StatusServiceUnavailable {
			err = ask503
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(f.patience))
	if errors.Is(err, ask503) {
		err = nil
	}
	return last, err
}

func first[T any](candidates ...*T) *T {
	for _, c := range candidates {
		if c != nil {
			return c
		}
	}
	return nil
}
