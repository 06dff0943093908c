package selling

import (
	"sync"
	"sync/atomic"
	"time"
)

// The bounds of a queue and of a batch.
const (
	batchLimit = 256  // orders of one write; more if more than batchParts times as many wait
	queueLimit = 8192 // waiting orders; more are refused as overloaded
)

// queue is the bounded first-come queue of a worker. It holds one request for each order id; other requests of that
// id wait behind it. While it is long it bounds the requests of each buyer, so that no buyer fills it alone.
//
// Nobody waits for a request to come. Whoever puts one into a queue that is not served has it served, until it is empty.
type queue struct {
	mu      sync.Mutex
	waiting []*request
	count   atomic.Int64        // the length of waiting, to be read without the mutex
	byID    map[string]*request // the first request of each order id
	behind  int                 // so many requests have joined another
	buyers  map[string]int      // requests of each buyer, with the joined ones
	oneEach atomic.Bool         // a batch has at most one order of each buyer
	served  bool                // by somebody who looks at it again before leaving
	left    time.Time           // when the last one left
	arrived chan struct{}       // holds one: something may be waiting
}

func newQueue() *queue {
	return &queue{byID: make(map[string]*request), buyers: make(map[string]int), left: time.Now(), arrived: make(chan struct{}, 1)}
}

// push adds a request. If nobody serves the queue, the caller is to serve it from now on. It fails if there is no room. A full queue
// refuses without the mutex, which its worker needs: under overload nearly all requests are refused.
func (q *queue) push(r *request, limit int) (serve bool, err error) {
	if q.length() >= limit {
		return false, overloaded("orders")
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	first := q.byID[r.order.OrderID]
	switch {
	case len(q.waiting) >= limit:
		return false, overloaded("orders")
	case len(q.waiting) >= longQueue && q.buyers[r.order.BuyerID] >= mostOfBuyer:
		return false, overloaded("requests of this buyer")
	case first != nil && (len(first.joined) >= mostJoined || q.behind >= limit):
		return false, overloaded("requests with this order id")
	}
	r.queue = q
	if first != nil { // it waits behind the first one of its order id
		first.joined = append(first.joined, r)
		q.behind++
		q.countBuyersLocked(r, 1)
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
}

func (q *queue) length() int { return int(q.count.Load()) }

// leave ends the service of the queue, unless something waits.
func (q *queue) leave() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.served, q.left = len(q.waiting) > 0, time.Now()
	return !q.served
}

// idle reports whether nobody has served the queue for a time.
func (q *queue) idle(d time.Duration) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.served && time.Since(q.left) >= d
}

// requeue puts a request that had joined another one into the queue again, which is served: somebody has just answered the other.
func (q *queue) requeue(r *request) {
	if _, err := q.push(r, queueLimit); err != nil {
		r.answer <- Result{Err: overloaded("orders")}
	}
}

// The bounds of callers that repeat requests, in addition to queueLimit.
const (
	longQueue   = queueLimit / 8 // with this many requests it bounds those of each buyer
	mostOfBuyer = 64             // requests of one buyer in a long queue; earlier ones may stay
	mostJoined  = 64             // requests that wait for the answer to one order
)

// A request joins a waiting one that has the same order id. If its content is the same too, it gets the same answer, as a
// replay, and takes no place in the queue and no row. If the first one's caller leaves, the next one takes its place.

// addLocked adds a request that is the first of its order id, and those that have joined it.
func (q *queue) addLocked(r *request) {
	q.byID[r.order.OrderID] = r
	q.behind += len(r.joined)
	q.countBuyersLocked(r, 1)
}

// removeLocked is the opposite of addLocked.
func (q *queue) removeLocked(r *request) {
	delete(q.byID, r.order.OrderID)
	q.behind -= len(r.joined)
	q.countBuyersLocked(r, -1)
}

// countBuyersLocked counts the buyers of a request and of those that have joined it.
func (q *queue) countBuyersLocked(r *request, by int) {
	if buyer := r.order.BuyerID; buyer != "" {
		if q.buyers[buyer] += by; q.buyers[buyer] == 0 {
			delete(q.buyers, buyer)
		}
	}
	for _, other := range r.joined {
		q.countBuyersLocked(other, by)
	}
}

// startableLocked returns a waiting request if it may be started. Otherwise it refuses it, and returns the first request
// that joined it and may be started, in its place; nil if there is none.
func (q *queue) startableLocked(r *request, now time.Time) *request {
	for {
		err := r.unstartable(now)
		if err == nil {
			return r
		}
		q.removeLocked(r)
		joined := r.joined
		r.joined = nil
		r.answer <- Result{Err: err} // from here on it may be reused
		if len(joined) == 0 {
			return nil
		}
		r = joined[0]
		r.joined = joined[1:]
		q.addLocked(r)
	}
}
