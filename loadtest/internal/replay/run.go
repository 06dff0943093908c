package replay

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"inventory/internal/api/client"
	"inventory/loadtest/internal/target"
)

// Settings say how a plan is run.
type Settings struct {
	Fleet       *client.Fleet
	Prefix      string // of the names of this run's SKUs, so that a database can be used again
	Concurrency int    // requests under way at once
	// Progress begins to show one of the two phases, and is told when each of its steps is done.
	Progress func(phase string, steps int) (done, over func())
}

// run is a plan under way.
type run struct {
	Settings
	plan  Plan
	tally *Tally
	// lost is set when a request got no answer for as long as the fleet is patient: the service is gone, and to be
	// as patient with every request that is left would take hours. They fail unsent.
	lost atomic.Bool
}

var (
	errNoAnswer = errors.New("no final answer")
	errLost     = errors.New("not sent: the service does not answer any more")
)

// Run creates the SKUs, sends the requests and counts the answers. It fails when a SKU cannot be created or ctx ends, and
// returns what was counted until then; a request that fails is counted.
func Run(ctx context.Context, plan Plan, settings Settings) (*Tally, error) {
	r := &run{Settings: settings, plan: plan, tally: newTally(len(plan.SKUs))}
	defer func() { r.tally.Interrupted = ctx.Err() != nil }()
	if err := r.create(ctx); err != nil {
		return r.tally, err
	}
	start := time.Now()
	err := r.send(ctx)
	r.tally.Elapsed = time.Since(start)
	return r.tally, err
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
			name := r.Prefix + sku.Name
			answer, err := r.Fleet.CreateSKU(creating, name, client.NewSKU{Stock: sku.Stock, Segments: &sku.Segments})
			if err == nil {
				err = answer.Err()
			}
			if err != nil {
				return fmt.Errorf("create SKU %s: %w", name, target.WithoutURL(err))
			}
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
	for _, q := range r.plan.Requests {
		if sending.Err() != nil {
			break
		}
		answered := make(chan struct{})
		before := make([]chan struct{}, len(q.Items))
		for i, item := range q.Items {
			before[i], latest[item.SKU] = latest[item.SKU], answered
		}
		senders.Go(func() error {
			defer close(answered)
			if err := wait(sending, before); err != nil {
				return err
			}
			r.ask(sending, q)
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

// ask sends one request until it has a final answer, and counts that.
func (r *run) ask(ctx context.Context, q Request) {
	if r.lost.Load() {
		r.tally.count(q, Failed, 0, errLost)
		return
	}
	start := time.Now()
	var outcome Outcome
	var err error
	what := "order " + q.OrderID
	switch {
	case len(q.Items) > 1:
		outcome, err = r.order(ctx, q)
	case q.IsReturn:
		outcome, err = r.restock(ctx, q, q.Items[0])
	default:
		outcome, err = r.deduct(ctx, q, q.Items[0])
	}
	if err != nil && ctx.Err() != nil {
		r.tally.unheard(q)
		return
	}
	if len(q.Items) == 1 {
		what += ", SKU " + r.plan.SKUs[q.Items[0].SKU].Name
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", what, err)
	}
	r.tally.count(q, outcome, time.Since(start), err)
	if errors.Is(err, errNoAnswer) { // after the count, so that this is the error that is told
		r.lost.Store(true)
	}
}

// final makes an error of a 503 that has lasted as long as the fleet was patient.
func final[T any](answer client.Answer[T], err error) (client.Answer[T], error) {
	if err == nil && answer.Status == http.StatusServiceUnavailable {
		err = answer.Err()
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", errNoAnswer, target.WithoutURL(err))
	}
	return answer, err
}

func (r *run) deduct(ctx context.Context, q Request, item Item) (Outcome, error) {
	order := client.NewDeduction{OrderID: q.OrderID, Quantity: item.Quantity}
	if q.BuyerID != "" {
		order.BuyerID = &q.BuyerID
	}
	name := r.Prefix + r.plan.SKUs[item.SKU].Name
	answer, err := final(r.Fleet.Deduct(ctx, name, order))
	switch {
	case err != nil:
		return Failed, err
	case answer.OK():
		if b := answer.Body; b.Sku != name || b.OrderID != q.OrderID || b.Quantity != item.Quantity || b.Status != client.Committed {
			return Failed, fmt.Errorf("asked for %d units, and the answer is another: %+v", item.Quantity, *b)
		}
		return Accepted, nil
	}
	return refusal(answer)
}

// refusal tells what became of a request that did not succeed.
func refusal[T any](answer client.Answer[T]) (Outcome, error) {
	switch {
	case answer.Problem != nil && answer.Problem.Code == client.SoldOut:
		return SoldOut, nil
	case answer.Problem != nil && answer.Problem.Code == client.InsufficientStock:
		return InsufficientStock, nil
	}
	return Failed, answer.Err()
}

// order sends an order of several SKUs.
func (r *run) order(ctx context.Context, q Request) (Outcome, error) {
	order := client.NewOrder{OrderID: q.OrderID, Lines: make([]client.NewLine, len(q.Items))}
	if q.BuyerID != "" {
		order.BuyerID = &q.BuyerID
	}
	for i, item := range q.Items {
		order.Lines[i] = client.NewLine{Sku: r.Prefix + r.plan.SKUs[item.SKU].Name, Quantity: item.Quantity}
	}
	answer, err := final(r.Fleet.PlaceOrder(ctx, order))
	switch {
	case err != nil:
		return Failed, err
	case !answer.OK():
		return refusal(answer)
	case answer.Body.OrderID != q.OrderID || len(answer.Body.Lines) != len(order.Lines):
		return Failed, fmt.Errorf("ordered %d SKUs, and the answer is another: %+v", len(order.Lines), *answer.Body)
	}
	for i, line := range answer.Body.Lines {
		if line.Sku != order.Lines[i].Sku || line.Quantity != order.Lines[i].Quantity || line.Status != client.Committed {
			return Failed, fmt.Errorf("ordered %+v, and the answer is another: %+v", order.Lines[i], line)
		}
	}
	return Accepted, nil
}

func (r *run) restock(ctx context.Context, q Request, item Item) (Outcome, error) {
	sku := r.plan.SKUs[item.SKU].Name
	reason := "return"
	body := client.Restock{Ref: refOf(q.OrderID, sku), Quantity: item.Quantity, Reason: &reason}
	answer, err := final(r.Fleet.Restock(ctx, r.Prefix+sku, body))
	switch {
	case err != nil:
		return Failed, err
	case !answer.OK():
		return Failed, answer.Err()
	case answer.Body.Ref != body.Ref || answer.Body.Quantity != item.Quantity:
		return Failed, fmt.Errorf("returned %d units, and the answer is another: %+v", item.Quantity, *answer.Body)
	}
	return Restocked, nil
}
