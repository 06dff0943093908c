package selling

import (
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
	sent     bool        // the store has it, so it may have been written
	answer   chan Result // with room for one, so that no worker waits for a caller that has gone
	queue    *queue      // that holds it
	joined   []*request  // requests with the same order id that came while it waited: see queue.go
}

// reply answers a request that has left the queue, and the joined ones with the same content. The joined ones with other
// content under the same order id go back into the queue: the store decides about them.
func (r *request) reply(a Result) { r.end(a, true) }

// end answers a request, and, if shared, also the joined ones with the same content. The others go back into the queue.
func (r *request) end(a Result, shared bool) {
	joined, queue, order, settle := r.joined, r.queue, r.order, r.settle
	r.joined = nil
	r.answer <- a // from here on it may be reused
	a.Created = false
	for _, other := range joined {
		if shared && other.order == order && other.settle == settle {
			other.answer <- a
		} else {
			queue.requeue(other)
		}
	}
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
		r.refuse(stock.OrderIDReused())
	}
}

// unstartable returns why a request must not be started: its caller has gone, or its deadline has passed. It only looks at the
// channel Done: it runs for each request under the queue's mutex, and Err of a caller's context may look at the connection.
func (r *request) unstartable(now time.Time) error {
	select {
	case <-r.ctx.Done():
		return stock.Unavailable(stock.Unwritten(context.Cause(r.ctx)), "wait in the queue")
	default:
	}
	if r.deadline.Before(now) {
		return overloaded("orders")
	}
	return nil
}

// stillWaiting returns the requests whose callers still wait and will wait for the end of a write that begins now. It answers
// the others. It is called right before the write: callers may have left while the worker waited for a lock.
func stillWaiting(requests []*request) []*request {
	soon := time.Now().Add(leastTime)
	return slices.DeleteFunc(requests, func(r *request) bool {
		left := r.ctx.Err() != nil || r.deadline.Before(soon)
		if r.sent = r.sent || !left; left {
			r.giveUp()
		}
		return left
	})
}

// giveUp answers a request that has left the queue and whose caller has left. The joined ones go back into the queue.
func (r *request) giveUp() {
	err := overloaded("orders")
	if gone := r.ctx.Err(); gone != nil {
		err = stock.Unavailable(stock.Unwritten(gone), "wait to be written")
	} else if r.sent {
		err = stock.Unavailable(stock.ErrLate, "write")
	}
	r.end(Result{Err: err}, false)
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

// inTurn merges two lists of requests of one batch, in the order in which they came.
func inTurn(requests, others []*request) []*request {
	if len(others) == 0 {
		return requests
	}
	all := slices.Concat(requests, others)
	slices.SortStableFunc(all, func(a, b *request) int { return a.queued.Compare(b.queued) })
	return all
}

func orders(requests []*request) []stock.Order {
	out := make([]stock.Order, len(requests))
	for i, r := range requests {
		out[i] = r.order
	}
	return out
}

// overloaded is the refusal of a request where too many wait already.
func overloaded(what string) error {
	return &stock.Error{Code: stock.CodeOverloaded, Message: "too many " + what + " are waiting; try again later"}
}
