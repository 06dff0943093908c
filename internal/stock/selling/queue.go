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

// queue is the bounded first-come queue of a worker. While it is long it bounds the requests of each buyer, so that no buyer fills it
// alone.
//
// There is no idle worker: pushing to an idle queue starts serving it, until it is empty.
type queue struct {
	mu      sync.Mutex
	waiting []*request
	count   atomic.Int64    // the length of waiting, to be read without the mutex
	buyers  map[string]int  // requests of each buyer
	ids     map[string]bool // of the orders of the batch that is popped, and kept for the next one
	oneEach atomic.Bool     // a batch has at most one order of each buyer
	served  bool            // by somebody who looks at it again before leaving
	left    time.Time       // when the last one left
	arrived chan struct{}   // holds one: something may be waiting
}

func newQueue() *queue {
	return &queue{buyers: make(map[string]int), ids: make(map[string]bool), left: time.Now(), arrived: make(chan struct{}, 1)}
}

// push adds a request. If nobody serves the queue, the caller is to serve it from now on. It fails if there is no room. A full queue
// refuses without the mutex, which its worker needs: under overload nearly all requests are refused.
func (q *queue) push(r *request, limit int) (serve bool, err error) {
	if q.length() >= limit {
		return false, overloaded("orders")
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case len(q.waiting) >= limit:
		return false, overloaded("orders")
	case len(q.waiting) >= longQueue && q.buyers[r.buyer()] >= mostOfBuyer:
		return false, overloaded("requests of this buyer")
	}
	q.buyers[r.buyer()]++
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

// pop removes up to limit requests, the longest waiting first. It refuses a request whose caller has gone, or which has too little time
// left for a write. A second request of an order id waits for the next batch, and so does, with oneEach, a buyer's second request.
func (q *queue) pop(limit int) []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	soon, oneEach := time.Now().Add(leastTime), q.oneEach.Load()
	batch, kept := make([]*request, 0, min(limit, len(q.waiting))), q.waiting[:0]
	ids, buyers := q.ids, make(map[string]bool)
	defer clear(ids)
	for _, r := range q.waiting {
		id, buyer := r.order.OrderID, r.buyer()
		if len(batch) == limit || ids[id] || oneEach && buyers[buyer] {
			kept = append(kept, r)
			continue
		}
		if q.buyers[buyer]--; q.buyers[buyer] == 0 {
			delete(q.buyers, buyer)
		}
		if err := r.unstartable(soon); err != nil {
			r.refuse(err)
			continue
		}
		if ids[id] = true; oneEach {
			buyers[buyer] = true
		}
		batch = append(batch, r)
	}
	clear(q.waiting[len(kept):])
	q.waiting = kept
	q.count.Store(int64(len(kept)))
	return batch
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

// The bounds of callers that repeat requests, in addition to queueLimit.
const (
	longQueue   = queueLimit / 8 // with this many requests it bounds those of each buyer
	mostOfBuyer = 64             // requests of one buyer in a long queue; earlier ones may stay
)
