package replay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"inventory/internal/api/client"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
)

// Settings say how a plan is run.
type Settings struct {
	Services    *load.Services
	Prefix      string        // of the names of this run's SKUs, so that a database can be used again
	Concurrency int           // requests under way at once
	Patience    time.Duration // for a final answer; 0: load.DefaultPersistence
	// Progress begins to show one of the two phases, and is told when each of its steps is done.
	Progress func(phase string, steps int) (done, over func())
}

// Answers are what callers saw of a plan.
type Answers struct {
	Operations  []history.Operation      // of each request, with its attempts
	Took        []time.Duration          // of each that got a final answer; 0: it was not sent, or nobody waited
	Stocks      map[string]history.Stock // of the SKUs that were created
	Elapsed     time.Duration            // from the first request to the last answer
	Interrupted bool
	FirstError  error // of the first request that failed
}

// run is a plan under way.
type run struct {
	Settings
	*Answers
	plan Plan
	mu   sync.Mutex // guards Stocks and FirstError
	// lost is set when a request got no answer for as long as its caller is patient: the service is gone, and to be
	// as patient with every request that is left would take hours. They fail unsent.
	lost atomic.Bool
}

// Run creates the SKUs and sends the requests. It fails when a SKU cannot be created or ctx ends, and returns what was
// answered until then; a request that fails is an answer.
func Run(ctx context.Context, plan Plan, settings Settings) (*Answers, error) {
	r := &run{Settings: settings, plan: plan, Answers: &Answers{
		Operations: plan.operations(settings.Prefix), Took: make([]time.Duration, len(plan.Requests)), Stocks: make(map[string]history.Stock),
	}}
	defer func() { r.Interrupted = ctx.Err() != nil }()
	if err := r.create(ctx); err != nil {
		return r.Answers, err
	}
	start := time.Now()
	err := r.send(ctx)
	r.Elapsed = time.Since(start)
	return r.Answers, err
}

// operations are the requests as they are asked for.
func (p Plan) operations(prefix string) []history.Operation {
	all := make([]history.Operation, len(p.Requests))
	for i, q := range p.Requests {
		o := history.Operation{Kind: history.Deduct, ID: q.OrderID, Buyer: q.BuyerID}
		for _, item := range q.Items {
			o.Lines = append(o.Lines, history.Line{SKU: prefix + p.SKUs[item.SKU].Name, Quantity: item.Quantity})
		}
		switch {
		case q.IsReturn:
			o.Kind, o.ID = history.Restock, refOf(q.OrderID, p.SKUs[q.Items[0].SKU].Name)
		case len(q.Items) > 1:
			o.Kind = history.Order
		}
		all[i] = o
	}
	return all
}

// create creates the SKUs.
func (r *run) create(ctx context.Context) error {
	done, over := r.Progress("SKUs created", len(r.plan.SKUs))
	defer over()
	creators, creating := errgroup.WithContext(ctx)
	creators.SetLimit(r.Concurrency)
	for _, sku := range r.plan.SKUs {
		if creating.Err() != nil {
			break
		}
		creators.Go(func() error {
			if err := r.Services.Create(creating, r.Prefix+sku.Name, client.NewSKU{Stock: sku.Stock, Segments: &sku.Segments}); err != nil {
				return err
			}
			r.mu.Lock()
			r.Stocks[r.Prefix+sku.Name] = history.Stock{Units: sku.Stock}
			r.mu.Unlock()
			done()
			return nil
		})
	}
	return ended(ctx, creators.Wait())
}

// ended prefers the end of ctx, which says why, to what it has caused.
func ended(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("the replay was stopped: %w", cause)
	}
	return err
}

// send sends the requests in the order of the file. A request whose SKU still waits for an earlier answer waits too,
// in one of the places of those under way; the one it waits for has begun before, so somebody always gets on.
func (r *run) send(ctx context.Context) error {
	done, over := r.Progress("requests answered", len(r.plan.Requests))
	defer over()
	latest := make([]chan struct{}, len(r.plan.SKUs)) // closed when the SKU's latest request is answered
	senders, sending := errgroup.WithContext(ctx)
	senders.SetLimit(r.Concurrency)
	for i, q := range r.plan.Requests {
		if sending.Err() != nil {
			break
		}
		answered := make(chan struct{})
		before := make([]chan struct{}, len(q.Items))
		for n, item := range q.Items {
			before[n], latest[item.SKU] = latest[item.SKU], answered
		}
		senders.Go(func() error {
			defer close(answered)
			if err := wait(sending, before); err != nil {
				return err
			}
			r.ask(sending, i)
			done()
			return sending.Err()
		})
	}
	return ended(ctx, senders.Wait())
}

// wait waits for the requests before, where there are some.
func wait(ctx context.Context, before []chan struct{}) error {
	for _, answered := range before {
		if answered == nil {
			continue
		}
		select {
		case <-answered:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

var errLost = errors.New("not sent: the service does not answer any more")

// ask sends one request until it has a final answer.
func (r *run) ask(ctx context.Context, i int) {
	o, err := &r.Operations[i], errLost
	if !r.lost.Load() {
		start := time.Now()
		var answer history.Answer
		answer, err = r.Services.Ask(ctx, o, load.Persistence{First: i % len(r.Services.URLs), For: r.Patience})
		if err != nil && ctx.Err() != nil {
			return
		}
		r.Took[i] = time.Since(start)
		if err == nil && !answer.Accepted() && (!answer.Short() || !o.Kind.Takes()) {
			err = fmt.Errorf("status %d, %s", answer.Status, answer.Code)
		}
	}
	if err == nil {
		return
	}
	r.mu.Lock()
	if r.FirstError == nil {
		r.FirstError = fmt.Errorf("%s %s, SKU %s: %w", o.Kind, o.ID, o.Lines[0].SKU, err)
	}
	r.mu.Unlock()
	if errors.Is(err, load.ErrNoAnswer) { // after the first, so that this is the error that is told
		r.lost.Store(true)
	}
}
