package selling

import (
	"time"

	"inventory/internal/stock"
)

// The bounds of callers that repeat requests, in addition to queueLimit.
const (
	longQueue   = queueLimit / 8 // with this many requests it begins to count each buyer's, until half of them are left
	mostOfBuyer = 64             // requests of one buyer in a long queue; earlier ones may stay
	mostJoined  = 64             // requests that wait for the answer to one order
)

// A request joins a waiting one that has the same order id. If its content is the same too, it gets the same answer, as a
// replay, and takes no place in the queue and no row. If the first one's caller leaves, the next one takes its place.

// orderIDs knows the requests of a queue by their order ids. Its queue's mutex guards it.
type orderIDs struct {
	byID   map[string]*request // the first of each order id
	behind int                 // requests that have joined another
	buyers map[string]int      // requests of each buyer, with the joined ones; nil: not counted
}

func newOrderIDs() orderIDs { return orderIDs{byID: make(map[string]*request)} }

// joinLocked lets a request wait behind the first one of its order id.
func (q *orderIDs) joinLocked(r, first *request) {
	first.joined = append(first.joined, r)
	q.behind++
	q.countBuyerLocked(r, 1)
}

// addLocked adds a request that is the first of its order id, and those that have joined it.
func (q *orderIDs) addLocked(r *request) {
	q.byID[r.order.OrderID] = r
	q.behind += len(r.joined)
	q.countBuyersOfLocked(r, 1)
}

// removeLocked is the opposite of addLocked.
func (q *orderIDs) removeLocked(r *request) {
	delete(q.byID, r.order.OrderID)
	q.behind -= len(r.joined)
	q.countBuyersOfLocked(r, -1)
}

// countBuyersOfLocked counts the buyers of a request and of those that have joined it.
func (q *orderIDs) countBuyersOfLocked(r *request, by int) {
	q.countBuyerLocked(r, by)
	for _, other := range r.joined {
		q.countBuyerLocked(other, by)
	}
}

func (q *orderIDs) countBuyerLocked(r *request, by int) {
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
func (q *orderIDs) countBuyersLocked(waiting []*request) {
	switch {
	case q.buyers == nil && len(waiting) >= longQueue:
		q.buyers = make(map[string]int)
		for _, r := range waiting {
			q.countBuyersOfLocked(r, 1)
		}
	case q.buyers != nil && len(waiting) < longQueue/2:
		q.buyers = nil
	}
}

// startableLocked returns a waiting request if it may be started. Otherwise it refuses it, and returns the first request
// that joined it and may be started, in its place; nil if there is none.
func (q *orderIDs) startableLocked(r *request, now time.Time) *request {
	err := r.unstartable(now)
	if err == nil {
		return r
	}
	q.removeLocked(r)
	for successors := r.joined; ; successors = successors[1:] {
		r.joined = nil
		r.answer <- answer{err: err}
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

func buyerOverloaded() *stock.Error {
	return &stock.Error{Code: stock.CodeOverloaded, Message: "too many requests of this buyer are waiting; try again later"}
}

func orderOverloaded() *stock.Error {
	return &stock.Error{Code: stock.CodeOverloaded, Message: "too many requests with this order id are waiting; try again later"}
}
