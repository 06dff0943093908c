package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Gather makes [Fleet.Deduct] gather orders of concurrent calls into requests of many. It is an option of [NewFleet].
//
// No order waits for more orders to come: an order goes at once, alone, while fewer requests than Requests are in flight
// to its process. Other orders wait until one of these requests has its answer, and then go together. Each caller gets the
// answer to its own order. The answer to a request comes when its slowest order has a result.
//
// A caller whose context ends stops waiting. If its order has not been sent yet, it never is; otherwise it may still be
// carried out, as when an answer is lost. If all callers of a request have left, the request ends. A caller that has less
// than three seconds left sends its order alone.
type Gather struct {
	Orders   int // of one request at most; 0 is 100, the most that a token may send
	Requests int // in flight to one process; 0 is 4
}

// hurried is the least time that a caller must have left for its order to be sent with others. A request has the earliest
// deadline of its callers, and the service answers in less time.
const hurried = 3 * time.Second

var errClosed = errors.New("the fleet is closed")

// gatherer sends orders to one process.
type gatherer struct {
	Gather

	client  *ClientWithResponses
	ctx     context.Context // of the requests; ends with the fleet's Close
	running sync.WaitGroup  // senders

	mu      sync.Mutex
	waiting []*gathered
	senders int
	closed  bool
}

// gathered is an order whose caller waits.
type gathered struct {
	ctx      context.Context // of its caller
	order    NewSKUDeduction
	deadline time.Time  // of its caller; zero: none
	answer   chan reply // holds one, so that no sender waits for a caller that has left
	request  *underway  // the one that it was sent with; nil: it waits
}

type reply struct {
	Answer[Deduction]
	err error
}

// underway is a request whose callers wait.
type underway struct {
	callers int
	cancel  context.CancelFunc
}

func newGatherer(ctx context.Context, client *ClientWithResponses, g Gather) *gatherer {
	g.Orders, g.Requests = cmp.Or(g.Orders, 100), cmp.Or(g.Requests, 4)
	return &gatherer{Gather: g, client: client, ctx: ctx}
}

// deduct takes stock for an order, together with others.
func (g *gatherer) deduct(ctx context.Context, sku string, o NewDeduction) (Answer[Deduction], error) {
	w := &gathered{
		ctx:    ctx,
		order:  NewSKUDeduction{Sku: sku, OrderID: o.OrderID, BuyerID: o.BuyerID, Quantity: o.Quantity, ReserveFor: o.ReserveFor},
		answer: make(chan reply, 1),
	}
	var bounded bool
	if w.deadline, bounded = ctx.Deadline(); bounded && time.Until(w.deadline) < hurried {
		return deductAlone(ctx, g.client, sku, o)
	}
	if err := g.add(w); err != nil {
		return Answer[Deduction]{}, err
	}
	select {
	case r := <-w.answer:
		return r.Answer, r.err
	case <-ctx.Done():
		g.leave(w)
		return Answer[Deduction]{}, context.Cause(ctx)
	}
}

// add lets an order wait for a sender, and starts one if there may be one more.
func (g *gatherer) add(w *gathered) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return backoff.Permanent(errClosed)
	}
	g.waiting = append(g.waiting, w)
	if g.senders < g.Requests {
		g.senders++
		g.running.Go(g.send)
	}
	return nil
}

// leave removes the order of a caller that leaves, if it has not been sent yet. The last caller to leave a request ends it.
func (g *gatherer) leave(w *gathered) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.request == nil {
		g.waiting = slices.DeleteFunc(g.waiting, func(other *gathered) bool { return other == w }) // a sender may have taken it already
		return
	}
	if w.request.callers--; w.request.callers == 0 {
		w.request.cancel()
	}
}

// send sends the waiting orders, request by request, until none is left.
func (g *gatherer) send() {
	runtime.Gosched() // let other callers of this moment add their orders
	for {
		ctx, orders, done := g.take()
		if len(orders) == 0 {
			return
		}
		g.ask(ctx, orders)
		done()
	}
}

// take returns the orders of the next request, and its context. If there are none, it counts the sender as gone.
func (g *gatherer) take() (ctx context.Context, orders []*gathered, done context.CancelFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var deadline time.Time
	request := new(underway)
	seen := 0
	for ; seen < len(g.waiting) && len(orders) < g.Orders; seen++ {
		if w := g.waiting[seen]; w.ctx.Err() == nil { // otherwise its caller is leaving
			orders = append(orders, w)
		}
	}
	g.waiting = slices.Delete(g.waiting, 0, seen)
	if len(orders) == 0 {
		g.senders--
		return nil, nil, nil
	}
	for _, w := range orders {
		w.request = request
		if !w.deadline.IsZero() && (deadline.IsZero() || w.deadline.Before(deadline)) {
			deadline = w.deadline
		}
	}
	request.callers = len(orders)
	if ctx, request.cancel = context.WithCancel(g.ctx); deadline.IsZero() {
		return ctx, orders, request.cancel
	}
	ctx, done = context.WithDeadline(ctx, deadline)
	return ctx, orders, func() { done(); request.cancel() }
}

// ask sends orders in one request, and answers their callers. If the process refuses the whole request, for one of its
// orders or for its size, ask repeats it with that order separate, or in halves: each caller gets the answer to its own
// order only.
func (g *gatherer) ask(ctx context.Context, orders []*gathered) {
	if len(orders) == 1 {
		o := orders[0].order
		a, err := deductAlone(ctx, g.client, o.Sku, NewDeduction{OrderID: o.OrderID, BuyerID: o.BuyerID, Quantity: o.Quantity, ReserveFor: o.ReserveFor})
		orders[0].answer <- reply{a, err}
		return
	}
	body := NewDeductions{Deductions: make([]NewSKUDeduction, len(orders))}
	for i, w := range orders {
		body.Deductions[i] = w.order
	}
	r, err := g.client.DeductAllWithResponse(ctx, nil, body)
	if err != nil {
		answerAll(orders, reply{err: err})
		return
	}
	problem := first(
		r.ApplicationProblemJSON400, r.ApplicationProblemJSON401, r.ApplicationProblemJSON403, r.ApplicationProblemJSON408,
		r.ApplicationProblemJSON413, r.ApplicationProblemJSON415, r.ApplicationProblemJSON429, r.ApplicationProblemJSON503,
	)
	switch status := r.StatusCode(); status {
	case http.StatusOK:
		answerEach(orders, r.JSON200)
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge:
		some, others := apart(orders, problem)
		g.ask(ctx, some)
		g.ask(ctx, others)
	default:
		answerAll(orders, reply{Answer: Answer[Deduction]{Status: status, Problem: problem}})
	}
}

// apart returns the order that a problem names, and the others; or else the two halves.
func apart(orders []*gathered, problem *Problem) (some, others []*gathered) {
	at := -1
	if problem != nil && problem.Field != nil {
		if _, err := fmt.Sscanf(*problem.Field, "deductions[%d]", &at); err != nil {
			at = -1
		}
	}
	if at < 0 || at >= len(orders) {
		return orders[:len(orders)/2], orders[len(orders)/2:]
	}
	return orders[at : at+1], slices.Concat(orders[:at], orders[at+1:])
}

func answerAll(orders []*gathered, r reply) {
	for _, w := range orders {
		w.answer <- r
	}
}

func answerEach(orders []*gathered, answer *DeductionResults) {
	if answer == nil || len(answer.Results) != len(orders) {
		answerAll(orders, reply{err: errors.New("the answer does not have a result for each order")})
		return
	}
	for i, result := range answer.Results {
		orders[i].answer <- reply{Answer: Answer[Deduction]{result.Status, result.Deduction, result.Problem}}
	}
}

// close refuses further orders, and returns when no request is in flight. The context of the requests has ended.
func (g *gatherer) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.running.Wait()
}
