package selling

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// The bounds of a queue and of a batch.
const (
	batchLimit = 256  // orders of one write; more if more than batchParts times as many wait
	queueLimit = 8192 // waiting orders; more are refused as overloaded
)

// errRetired is returned by a queue that its service has forgotten.
var errRetired = errors.New("the queue is not used any more")

// queue is the bounded first-come queue of a worker or a settler. It holds one request for each order id; other requests of that
// id wait behind it. While it is long it bounds the requests of each buyer, so that no buyer fills it alone.
//
// Nobody waits for a request to come. Whoever puts one into a queue that is not served has it served, until it is empty.
type queue struct {
	mu      sync.Mutex
	waiting []*request
	count   atomic.Int64        // the length of waiting, to be read without the mutex
	byID    map[string]*request // the first request of each order id
	behind  int                 // so many requests have joined another
	buyers  map[string]int      // requests of each buyer, with the joined ones; nil: not counted
	oneEach atomic.Bool         // a batch has at most one order of each buyer
	served  bool                // by somebody who looks at it again before leaving
	left    time.Time           // when the last one left
	retired bool
	arrived chan struct{} // holds one: something may be waiting
}

func newQueue() *queue {
	return &queue{byID: make(map[string]*request), left: time.Now(), arrived: make(chan struct{}, 1)}
}

// push adds a request. If nobody serves the queue, the caller is to serve it from now on. It fails if there is no room or the queue
// has retired. A full queue refuses without the mutex, which its worker needs: under overload nearly all requests are refused.
func (q *queue) push(r *request, limit int) (serve bool, err error) {
	if q.length() >= limit {
		return false, overloaded("orders")
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.retired {
		return false, errRetired
	}
	q.countBuyersLocked()
	first := q.byID[r.order.OrderID]
	switch {
	case len(q.waiting) >= limit:
		return false, overloaded("orders")
	case q.buyers[r.order.BuyerID] >= mostOfBuyer:
		return false, overloaded("requests of this buyer")
	case first != nil && (len(first.joined) >= mostJoined || q.behind >= limit):
		return false, overloaded("requests with this order id")
	}
	r.queue = q
	if first != nil {
		q.joinLocked(r, first)
		return false, nil
	}
	q.addLocked(r)
	q.waiting = append(q.waiting, r)
	q.count.Store(int64(len(q.waiting)))
	signal(q.arrived)
	serve, q.served = !q.served, true
	return serve, nil
}

func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// pop removes up to limit requests, the longest waiting first. It refuses a request whose caller has gone or whose deadline has
// passed. With oneEach a buyer's second request waits for the next batch.
func (q *queue) pop(limit int) []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	batch := make([]*request, 0, min(limit, len(q.waiting)))
	var buyers map[string]bool
	if q.oneEach.Load() {
		buyers = make(map[string]bool, cap(batch))
	}
	q.filterLocked(func(r *request) *request {
		if len(batch) == limit {
			return r
		}
		if r = q.startableLocked(r, now); r == nil || buyers[r.order.BuyerID] {
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

// drain removes the requests for which meant returns true, in their order.
func (q *queue) drain(meant func(*request) bool) (drained []*request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.filterLocked(func(r *request) *request {
		if !meant(r) {
			return r
		}
		q.removeLocked(r)
		drained = append(drained, r)
		return nil
	})
	return drained
}

// filterLocked replaces each waiting request by what stays returns for it; nil removes it.
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

// leave ends the service of the queue, unless something waits.
func (q *queue) leave() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.served, q.left = len(q.waiting) > 0, time.Now()
	return !q.served
}

// retire closes a queue that nobody has served for a time. Afterwards push refuses.
func (q *queue) retire(idle time.Duration) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.retired = !q.served && time.Since(q.left) >= idle
	return q.retired
}

// requeue puts a request that had joined another one into the queue again, which is served: somebody has just answered the other.
func (q *queue) requeue(r *request) {
	if _, err := q.push(r, queueLimit); err != nil {
		r.answer <- Result{Err: overloaded("orders")}
	}
}

// The bounds of callers that repeat requests, in addition to queueLimit.
const (
	longQueue   = queueLimit / 8 // with this many requests it begins to count each buyer's, until half of them are left
	mostOfBuyer = 64             // requests of one buyer in a long queue; earlier ones may stay
	mostJoined  = 64             // requests that wait for the answer to one order
)

// A request joins a waiting one that has the same order id. If its content is the same too, it gets the same answer, as a
// replay, and takes no place in the queue and no row. If the first one's caller leaves, the next one takes its place.

// joinLocked lets a request wait behind the first one of its order id.
func (q *queue) joinLocked(r, first *request) {
	first.joined = append(first.joined, r)
	q.behind++
	q.countBuyerLocked(r, 1)
}

// addLocked adds a request that is the first of its order id, and those that have joined it.
func (q *queue) addLocked(r *request) {
	q.byID[r.order.OrderID] = r
	q.behind += len(r.joined)
	q.countBuyersOfLocked(r, 1)
}

// removeLocked is the opposite of addLocked.
func (q *queue) removeLocked(r *request) {
	delete(q.byID, r.order.OrderID)
	q.behind -= len(r.joined)
	q.countBuyersOfLocked(r, -1)
}

// countBuyersOfLocked counts the buyers of a request and of those that have joined it.
func (q *queue) countBuyersOfLocked(r *request, by int) {
	q.countBuyerLocked(r, by)
	for _, other := range r.joined {
		q.countBuyerLocked(other, by)
	}
}

func (q *queue) countBuyerLocked(r *request, by int) {
	buyer := r.order.BuyerID
	if buyer == "" || q.buyers == nil {
		return
	}
	if n := q.buyers[buyer] + by; n > 0 {
		q.buyers[buyer] = n
	} else {
		delete(q.buyers, buyer)
	}
}

// countBuyersLocked starts to count the requests of each buyer when the queue is long, and stops when it is short again: a
// short queue does not pay for it.
func (q *queue) countBuyersLocked() {
	switch {
	case q.buyers == nil && len(q.waiting) >= longQueue:
		q.buyers = make(map[string]int)
		for _, r := range q.waiting {
			q.countBuyersOfLocked(r, 1)
		}
	case q.buyers != nil && len(q.waiting) < longQueue/2:
		q.buyers = nil
	}
}

// startableLocked returns a waiting request if it may be started. Otherwise it refuses it, and returns the first request
// that joined it and may be started, in its place; nil if there is none.
func (q *queue) startableLocked(r *request, now time.Time) *request {
	err := r.unstartable(now)
	if err == nil {
		return r
	}
	q.removeLocked(r)
	for successors := r.joined; ; successors = successors[1:] {
		r.joined = nil
		r.answer <- Result{Err: err}
		if len(successors) == 0 {
			return nil
		}
		r = successors[0]
		if err = r.unstartable(now); err == nil {
			r.joined = successors[1:]
			q.addLocked(r)
			return r
		}
	}
}
