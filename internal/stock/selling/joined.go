package selling

import (
	"time"

	"inventory/internal/stock"
)

// The bounds of callers who ask again and again, besides queueLimit.
const (
	longQueue   = queueLimit / 8 // requests from which on those of each buyer are counted, until half of them are left
	mostOfBuyer = 64             // requests of one buyer in a long queue; those that are there already may stay
	mostJoined  = 64             // requests that wait for the answer to one order
)

// A request that comes with the order id of one that waits joins it. If it asks the same it gets the same answer: that is a
// replay, and costs no place in the queue and no row. If the first one's caller leaves, the next one takes its place.

// orderIDs knows the requests of a queue by their order ids. Its queue's mutex guards it.
type orderIDs struct {
	byID   map[string]*request // the first of each order id
	behind int                 // those who have joined one
	buyers map[string]int      // requests of each buyer, also of those who have joined; nil: they are not counted
}

func newOrderIDs() orderIDs { return orderIDs{byID: make(map[string]*request)} }

// joinLocked lets a request wait behind the first one of its order id.
func (q *orderIDs) joinLocked(r, first *request) {
	first.joined = append(first.joined, r)
	q.behind++
	q.countBuyerLocked(r, 1)
}

// addLocked counts a request that is the first of its order id in the queue, and those behind it.
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

// countBuyersOfLocked counts the buyers of a request and of those behind it.
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

// countBuyersLocked begins to count the requests of each buyer when the queue has become long, and ends when it is short:
// while there is room for everybody, nobody pays for that.
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

// startableLocked returns a request that waits if it may be started. Else it refuses it, and the first of those that joined
// it and may be started takes its place; nil where there is none.
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
