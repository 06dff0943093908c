package selling

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"inventory/internal/stock"
)

// request is one order on its way through a lane. It gets exactly one answer.
type request struct {
	ctx    context.Context
	order  stock.Order
	wish   stock.SettleRequest // of those who settle
	queued time.Time
	// deadline is the instant after which nothing may be written for it.
	deadline time.Time
	sent     bool        // to the store, so that it may have been written
	answer   chan answer // holds one, so that the lane never waits for a caller that has gone
	queue    *queue      // that it was put into
	joined   []*request  // who came with its order id while it waited: see joined.go
}

type answer struct {
	deduction stock.Deduction
	created   bool
	err       error
}

// newRequest returns a request, perhaps one that has been used up before.
func (s *Service) newRequest(ctx context.Context, o stock.Order) *request {
	r := s.requests.Get().(*request)
	r.ctx, r.order, r.queued, r.deadline, r.sent = ctx, o, time.Now(), s.deadlineOf(ctx), false
	return r
}

// used gives back a request whose answer has been taken: nobody else knows it any more.
func (s *Service) used(r *request) {
	r.ctx, r.order, r.wish, r.queue = nil, stock.Order{}, stock.SettleRequest{}, nil
	s.requests.Put(r)
}

func (r *request) refuse(err error) { r.reply(answer{err: err}) }

// stale is why a request is not started: its caller has gone, it came before the oldest that may be, or its deadline has
// passed. Of the caller it knows what the context has told, and does not look.
func (r *request) unstartable(now, oldest time.Time) error {
	select {
	case <-r.ctx.Done():
		return stock.Unavailable(context.Cause(r.ctx), "wait in the queue")
	default:
	}
	if r.queued.Before(oldest) || r.deadline.Before(now) {
		return overloaded()
	}
	return nil
}

// errRetired is returned by a queue whose lane has ended.
var errRetired = errors.New("lane has ended")

// queue is the bounded first-come queue in front of a lane. It holds one request of an order id, behind which the others of
// that id wait, and once it is long so many of a buyer: nobody fills it alone.
type queue struct {
	mu      sync.Mutex
	waiting []*request
	byID    map[string]*request // the same ones
	behind  int                 // those who have joined one
	buyers  map[string]int      // requests of each buyer, also of those who have joined; nil: they are not counted
	count   atomic.Int64        // of waiting, for those who only look
	oneEach atomic.Bool         // a batch has one order of each buyer
	retired bool
	arrived chan struct{} // holds one: something may be waiting
	backlogged chan struct{} // holds one: a crowd may be waiting
}

func newQueue() *queue {
	return &queue{byID: make(map[string]*request), arrived: make(chan struct{}, 1), backlogged: make(chan struct{}, 1)}
}

// push adds a request and tells how many wait now, or says that there is no room for it or that the queue has retired. Who
// finds it full does not hold up the lane and those who are let in: under overload that is nearly everybody.
func (q *queue) push(r *request, limit int) (waiting int, err error) {
	if q.length() >= limit {
		return 0, overloaded()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.retired {
		return 0, errRetired
	}
	q.countBuyersLocked()
	first := q.byID[r.order.OrderID]
	switch {
	case len(q.waiting) >= limit:
		return 0, overloaded()
	case q.buyers[r.order.BuyerID] >= mostOfBuyer:
		return 0, buyerOverloaded()
	case first != nil && (len(first.joined) >= mostJoined || q.behind >= limit):
		return 0, orderOverloaded()
	}
	r.queue = q
	if first != nil {
		q.joinLocked(r, first)
		return len(q.waiting), nil
	}
	q.addLocked(r)
	q.waiting = append(q.waiting, r)
	q.count.Store(int64(len(q.waiting)))
	signal(q.arrived)
	if len(q.waiting) >= backlog {
		signal(q.backlogged)
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
// second one of a buyer, where buyers are counted, waits for the next batch.
func (q *queue) pop(least, limit int, patience time.Duration) []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) < least {
		return nil
	}
	now := time.Now()
	oldest := now.Add(-patience)
	batch := make([]*request, 0, min(limit, len(q.waiting)))
	var buyers map[string]bool
	if q.oneEach.Load() {
		buyers = make(map[string]bool, cap(batch))
	}
	q.filterLocked(func(r *request) *request {
		if len(batch) == limit {
			return r
		}
		if r = q.startableLocked(r, now, oldest); r == nil || buyers[r.order.BuyerID] {
			return r
		}
		if buyers != nil {
			buyers[r.order.BuyerID] = true
		}
		q.removeLocked(r)
		batch = append(batch, r)
		return nil
	})
	return batch
}

// takeAll removes every request that is meant, in their order.
func (q *queue) drain(meant func(*request) bool) (taken []*request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.filterLocked(func(r *request) *request {
		if !meant(r) {
			return r
		}
		q.removeLocked(r)
		taken = append(taken, r)
		return nil
	})
	return taken
}

// keep has each request that waits replaced by what stays of it, nil for nothing. The queue is locked.
func (q *queue) filterLocked(stays func(*request) *request) {
	kept := q.waiting[:0]
	for _, r := range q.waiting {
		if r = stays(r); r != nil {
			kept = append(kept, r)
		}
	}
	clear(q.waiting[len(kept):])
	q.waiting = kept
	q.count.Store(int64(len(kept)))
	q.countBuyersLocked()
}

func (q *queue) length() int { return int(q.count.Load()) }

// retire closes the queue if nobody waits in it.
func (q *queue) retire() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.retired = len(q.waiting) == 0
	return q.retired
}

func overloaded() *stock.Error {
	return &stock.Error{Code: stock.CodeOverloaded, Message: "too many orders are waiting; try again later"}
}
