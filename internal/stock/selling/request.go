package selling

import (
	"cmp"
	"context"
	"slices"
	"time"

	"inventory/internal/stock"
)

// leastTime is the time that a request must have left until its deadline when its write begins. With less the write would
// often be too late, and the other requests of its batch would have to be written again.
const leastTime = 25 * time.Millisecond

// request is one order or one settle request for a worker. It gets exactly one answer.
type request struct {
	ctx    context.Context
	order  stock.Order
	settle stock.SettleRequest
	queued time.Time
	// deadline is the instant after which nothing may be written for it.
	deadline time.Time
	answered chan struct{} // is closed once the result is set
	result   Result
}

func newRequest(ctx context.Context, deadline time.Time, o stock.Order) *request {
	return &request{ctx: ctx, order: o, queued: time.Now(), deadline: deadline, answered: make(chan struct{})}
}

// buyer is whose request it is for the bounds of a queue: the order's buyer, or, if none is named, whoever repeats the order id.
func (r *request) buyer() string { return cmp.Or(r.order.BuyerID, r.order.OrderID) }

// reply answers a request that has left the queue.
func (r *request) reply(a Result) {
	r.result = a
	close(r.answered)
}

func (r *request) refuse(err error) { r.reply(Result{Err: err}) }

func refuseAll(requests []*request, err error) {
	for _, r := range requests {
		r.refuse(err)
	}
}

// replyOutcome answers a request whose order was accepted, now or before.
func (r *request) replyOutcome(o stock.Outcome) {
	switch {
	case o.Kind == stock.Accepted:
		r.reply(Result{Deduction: o.Deduction, Created: true})
	case o.Deduction.Answers(r.order):
		r.reply(Result{Deduction: o.Deduction})
	default:
		r.refuse(r.order.ReusedBy(o.Deduction))
	}
}

// unstartable returns why a request must not be started: its caller has gone, or its deadline comes before an instant.
func (r *request) unstartable(soon time.Time) error {
	if r.ctx.Err() != nil {
		return stock.Unavailable(stock.Unwritten(context.Cause(r.ctx)), "wait in the queue")
	}
	if r.deadline.Before(soon) {
		return overloaded("orders")
	}
	return nil
}

// stillWaiting returns the requests whose callers still wait and will wait for the end of a write that begins now. It answers
// the others. It is called right before the write: callers may have left while the worker waited for a lock.
func stillWaiting(requests []*request) []*request {
	soon := time.Now().Add(leastTime)
	return slices.DeleteFunc(requests, func(r *request) bool {
		if err := r.ctx.Err(); err != nil {
			r.refuse(stock.Unavailable(stock.Unwritten(err), "wait to be written"))
			return true
		}
		late := r.deadline.Before(soon)
		if late {
			r.refuse(stock.Unavailable(stock.ErrLate, "write"))
		}
		return late
	})
}

// firstDeadline is the earliest deadline of some requests: a write of all of them has to end by then.
func firstDeadline(requests []*request) time.Time {
	return slices.MinFunc(requests, byDeadline).deadline
}

// lastDeadline is the latest deadline of some requests.
func lastDeadline(requests []*request) time.Time {
	return slices.MaxFunc(requests, byDeadline).deadline
}

func byDeadline(a, b *request) int { return a.deadline.Compare(b.deadline) }

// overloaded is the refusal of a request where too many wait already.
func overloaded(what string) error {
	return &stock.Error{Code: stock.CodeOverloaded, Message: "too many " + what + " are waiting; try again later"}
}
