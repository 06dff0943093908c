package stock

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// request is one order on its way through a lane. It gets exactly one answer.
type request struct {
	ctx    context.Context
	order  Order
	wish   Wish // of those who settle
	queued time.Time
	// deadline is the instant after which nothing may be written for it.
	deadline time.Time
	sent     bool        // to the store, so that it may have been written
	answer   chan answer // holds one, so that the lane never waits for a caller that has gone
}

type answer struct {
	deduction Deduction
	created   bool
	err       error
}

// newRequest returns a request, perhaps one that has been used up before.
func (s *Service) newRequest(ctx context.Context, o Order) *request {
	r := s.requests.Get().(*request)
	r.ctx, r.order, r.queued, r.deadline, r.sent = ctx, o, time.Now(), s.deadlineOf(ctx), false
	return r
}

// used gives back a request whose answer has been taken: nobody else knows it any more.
func (s *Service) used(r *request) {
	r.ctx, r.order, r.wish = nil, Order{}, Wish{}
	s.requests.Put(r)
}

// gone tells whether its caller is known to have left. It looks at nothing, other than the context's Err may.
func (r *request) gone() bool {
	select {
	case <-r.ctx.Done():
		return true
	default:
		return false
	}
}

func (r *request) refuse(err error) { r.answer <- answer{err: err} }

// errRetired is returned by a queue whose lane has ended.
var errRetired = errors.New("lane has ended")

// queue is the bounded first-come queue in front of a lane.
type queue struct {
	mu      sync.Mutex
	waiting []*request
	count   atomic.Int64 // of waiting, for those who only look
	oneEach atomic.Bool  // a batch has one order of each buyer
	retired bool
	arrived chan struct{} // holds one: something may be waiting
	crowded chan struct{} // holds one: a crowd may be waiting
}

func newQueue() *queue {
	return &queue{arrived: make(chan struct{}, 1), crowded: make(chan struct{}, 1)}
}

// push adds a request and tells how many wait now, or says that the queue is full or has retired. Who finds it full does
// not hold up the lane and those who are let in: under overload that is nearly everybody.
func (q *queue) push(r *request, limit int) (waiting int, err error) {
	if q.length() >= limit {
		return 0, overloaded()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.retired {
		return 0, errRetired
	}
	if len(q.waiting) >= limit {
		return 0, overloaded()
	}
	q.waiting = append(q.waiting, r)
	q.count.Store(int64(len(q.waiting)))
	signal(q.arrived)
	if len(q.waiting) >= crowd {
		signal(q.crowded)
	}
	return len(q.waiting), nil
}

func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// take removes up to limit requests, the longest waiting first; none where fewer than least wait. A request whose
// caller has gone, or that has waited for longer than patience, is dropped: work past its deadline is not started. A
// second occurrence of an order id waits for the next batch, where the first one's outcome can be read; so does one of a
// buyer, where buyers are counted.
func (q *queue) take(least, limit int, patience time.Duration) []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) < least {
		return nil
	}
	now := time.Now()
	oldest := now.Add(-patience)
	var batch []*request
	taken := make(map[string]struct{}, min(limit, len(q.waiting)))
	var buyers map[string]bool
	if q.oneEach.Load() {
		buyers = make(map[string]bool, min(limit, len(q.waiting)))
	}
	kept := q.waiting[:0]
	for i, r := range q.waiting {
		if len(batch) == limit {
			kept = append(kept, q.waiting[i:]...)
			break
		}
		_, again := taken[r.order.OrderID]
		switch {
		case r.gone():
			r.refuse(unavailable(context.Cause(r.ctx), "wait in the queue"))
		case r.queued.Before(oldest) || r.deadline.Before(now):
			r.refuse(overloaded())
		case again || buyers[r.order.BuyerID]:
			kept = append(kept, r)
		default:
			taken[r.order.OrderID] = struct{}{}
			if buyers != nil {
				buyers[r.order.BuyerID] = true
			}
			batch = append(batch, r)
		}
	}
	clear(q.waiting[len(kept):])
	q.waiting = kept
	q.count.Store(int64(len(kept)))
	return batch
}

// takeAll removes every request that is meant, in their order.
func (q *queue) takeAll(meant func(*request) bool) (taken []*request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	kept := q.waiting[:0]
	for _, r := range q.waiting {
		if meant(r) {
			taken = append(taken, r)
		} else {
			kept = append(kept, r)
		}
	}
	clear(q.waiting[len(kept):])
	q.waiting = kept
	q.count.Store(int64(len(kept)))
	return taken
}

func (q *queue) length() int { return int(q.count.Load()) }

// retire closes the queue if nobody waits in it.
func (q *queue) retire() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.retired = len(q.waiting) == 0
	return q.retired
}

func overloaded() *Error {
	return &Error{Code: CodeOverloaded, Message: "too many orders are waiting; try again later"}
}
