package selling

import (
	"time"

	"inventory/internal/stock"
)

// The bounds of those who ask again and again, beside queueLimit.
const (
	longQueue   = queueLimit / 8 // requests from which on those of each buyer are counted, until half of them are left
	mostOfBuyer = 64             // requests of one buyer in a long queue; those that are there already may stay
	mostJoined  = 64             // who wait for the answer to one order
)

// Who comes with the order id of a request that waits joins it. Those who ask the same get its answer: that is a replay,
// and it costs no place in the queue and no row. Where the first one's caller leaves, the next one takes its place.

// join lets a request wait behind the first one of its order id.
func (q *queue) joinLocked(r, first *request) {
	first.joined = append(first.joined, r)
	q.behind++
	q.countBuyerLocked(r, 1)
}

// enter counts a request that comes into the queue as the first of its order id, and those behind it.
func (q *queue) addLocked(r *request) {
	q.byID[r.order.OrderID] = r
	q.countAllLocked(r, 1)
}

// leave is the opposite of enter.
func (q *queue) removeLocked(r *request) {
	delete(q.byID, r.order.OrderID)
	q.countAllLocked(r, -1)
}

func (q *queue) countAllLocked(r *request, by int) {
	q.countBuyerLocked(r, by)
	q.behind += by * len(r.joined)
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

// watchBuyers begins to count those of each buyer in a queue that has become long, and ends with it: as long as there is room
// for everybody, nobody pays for that.
func (q *queue) countBuyersLocked() {
	switch {
	case q.buyers == nil && len(q.waiting) >= longQueue:
		q.buyers = make(map[string]int)
		for _, r := range q.waiting {
			q.countBuyerLocked(r, 1)
			for _, other := range r.joined {
				q.countBuyerLocked(other, 1)
			}
		}
	case q.buyers != nil && len(q.waiting) < longQueue/2:
		q.buyers = nil
	}
}

// fresh returns a request that waits, if it may be started. Else it is refused, and the first of those who have joined it
// that may be started takes its place; nil where there is none.
func (q *queue) startableLocked(r *request, now, oldest time.Time) *request {
	err := r.unstartable(now, oldest)
	if err == nil {
		return r
	}
	q.removeLocked(r)
	for heirs := r.joined; ; heirs = heirs[1:] {
		r.joined = nil
		r.answer <- answer{err: err}
		if len(heirs) == 0 {
			return nil
		}
		r = heirs[0]
		if err = r.unstartable(now, oldest); err == nil {
			r.joined = heirs[1:]
			q.addLocked(r)
			return r
		}
	}
}

// tell answers a request that has left the queue, and those who have joined it and ask the same. Who asks for something
// else under its order id goes back into the queue: what becomes of that is up to the store.
func (r *request) reply(a answer) {
	joined, queue, order, wish := r.joined, r.queue, r.order, r.wish
	r.joined = nil
	r.answer <- a // from now on it may be another's
	a.created = false
	for _, other := range joined {
		if other.order == order && other.wish == wish {
			other.answer <- a
		} else {
			queue.requeue(other)
		}
	}
}

// leave answers a request that has left the queue and is given up. Those who have joined it go back into the queue.
func (r *request) abandon(err error) {
	joined, queue := r.joined, r.queue
	r.joined = nil
	r.answer <- answer{err: err}
	for _, other := range joined {
		queue.requeue(other)
	}
}

// takeBack puts a request into the queue again that had joined another one.
func (q *queue) requeue(r *request) {
	if _, err := q.push(r, queueLimit); err != nil {
		r.answer <- answer{err: overloaded()}
	}
}

func buyerOverloaded() *stock.Error {
	return &stock.Error{Code: stock.CodeOverloaded, Message: "too many requests of this buyer are waiting; try again later"}
}

func orderOverloaded() *stock.Error {
	return &stock.Error{Code: stock.CodeOverloaded, Message: "too many requests with this order id are waiting; try again later"}
}
