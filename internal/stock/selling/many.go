package selling

import (
	"context"
	"errors"
	"sync"
	"time"

	"inventory/internal/stock"
	"inventory/internal/turns"
)

// A request of many orders puts all of them into the queues before it waits for the first answer, so they meet in the
// workers' batches. So that such requests leave room in every queue, callers take turns: at most manyUnderWay orders of all
// of them are under way, and small requests go before large ones.
const (
	manyUnderWay = queueLimit / 2
	manyWaiting  = 8 * queueLimit // orders of requests that wait for their turn
)

// Result is what [Service.Deduct] would return for one of many orders.
type Result struct {
	Deduction stock.Deduction
	Created   bool
	Err       error
}

func newMany() *turns.Turns {
	return turns.New(turns.Config{Places: manyUnderWay, Waiting: manyWaiting, Patience: turnWait, Weighed: true})
}

// DeductAll deducts stock for many orders, each as Deduct would alone, and returns the results in the same order. An
// order that is repeated in the list is a replay of its first. DeductAll itself fails only if the caller got no turn: then
// nothing was done.
func (s *Service) DeductAll(ctx context.Context, caller string, orders []SKUOrder) ([]Result, error) {
	switch {
	case len(orders) == 0:
		return nil, nil
	case len(orders) > stock.MaxOrders:
		return nil, stock.Invalid("deductions", "must be 1 to %d", stock.MaxOrders)
	}
	deadline := s.deadlineOf(ctx) // from before the wait for a turn
	leave, err := s.enterMany(ctx, deadline, caller, len(orders))
	if err != nil {
		return nil, err
	}
	defer leave()
	first, requests, answers := firstOfEach(orders), make([]*request, len(orders)), make([]answer, len(orders))
	for i, o := range orders {
		if first[i] == i {
			requests[i], answers[i].err = s.ask(ctx, deadline, o.SKU, o.Order)
		}
	}
	for i, r := range requests {
		if r != nil {
			answers[i] = s.await(ctx, r)
		}
	}
	return s.resultsOf(ctx, orders, first, answers), nil
}

// enterMany waits for the turn of a request, until its deadline.
func (s *Service) enterMany(ctx context.Context, deadline time.Time, caller string, orders int) (leave func(), err error) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	leave, err = s.many.Enter(ctx, caller, orders)
	switch {
	case errors.Is(err, turns.ErrFull), errors.Is(err, turns.ErrLate), errors.Is(err, context.DeadlineExceeded):
		return nil, s.overloaded
	case err != nil:
		return nil, stock.Unavailable(stock.Unwritten(err), "wait for a turn")
	default:
		return leave, nil
	}
}

// firstOfEach returns for each order the index of the first equal one.
func firstOfEach(orders []SKUOrder) []int {
	first, seen := make([]int, len(orders)), make(map[SKUOrder]int, len(orders))
	for i, o := range orders {
		at, again := seen[o]
		if !again {
			at, seen[o] = i, i
		}
		first[i] = at
	}
	return first
}

// resultsOf turns answers into results. Reservations that have to be ended first are ended at the same time.
func (s *Service) resultsOf(ctx context.Context, orders []SKUOrder, first []int, answers []answer) []Result {
	results := make([]Result, len(orders))
	var ending sync.WaitGroup
	for i, a := range answers {
		tell := func() {
			r := &results[i]
			r.Deduction, r.Created, r.Err = s.tell(ctx, orders[i].OrderID, a)
		}
		switch {
		case first[i] < i:
		case a.err == nil && s.mayBeDue(a.deduction):
			ending.Go(tell)
		default:
			tell()
		}
	}
	ending.Wait()
	for i, at := range first {
		if at < i {
			results[i] = results[at]
			results[i].Created = false
		}
	}
	return results
}
