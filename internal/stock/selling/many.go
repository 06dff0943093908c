package selling

import (
	"context"
	"errors"
	"sync"

	"inventory/internal/stock"
	"inventory/internal/turns"
)

// A request may ask for many orders, each for itself. They all go into the queues before the first answer is waited for, so
// they meet in the workers' batches. So that such requests leave room in every queue, callers take turns: at most so many
// orders of all of them are under way, and those who ask for few go before those who ask for many.
const (
	manyUnderWay = queueLimit / 2
	manyWaiting  = 8 * queueLimit // orders of requests that wait for their turn
)

// Result is what [Service.Deduct] returns for one of many orders.
type Result struct {
	Deduction stock.Deduction
	Created   bool
	Err       error
}

func newMany() *turns.Turns {
	return turns.New(turns.Config{Places: manyUnderWay, Waiting: manyWaiting, Patience: turnWait, Weighed: true})
}

// DeductAll deducts stock for many orders, each as Deduct would alone, and returns their results in their order. One that is
// there again is a replay of itself. Its error is that of a caller who got no turn: then nothing was done.
func (s *Service) DeductAll(ctx context.Context, caller string, orders []SKUOrder) ([]Result, error) {
	switch {
	case len(orders) == 0:
		return nil, nil
	case len(orders) > stock.MaxOrders:
		return nil, stock.Invalid("deductions", "must be 1 to %d", stock.MaxOrders)
	}
	leave, err := s.enterMany(ctx, caller, len(orders))
	if err != nil {
		return nil, err
	}
	defer leave()
	first, requests, answers := firstOfEach(orders), make([]*request, len(orders)), make([]answer, len(orders))
	for i, o := range orders {
		if first[i] == i {
			requests[i], answers[i].err = s.ask(ctx, o.SKU, o.Order)
		}
	}
	for i, r := range requests {
		if r != nil {
			answers[i] = s.await(ctx, r)
		}
	}
	return s.tellAll(ctx, orders, first, answers), nil
}

// enterMany waits for the turn of a request, as long as something may be written for it.
func (s *Service) enterMany(ctx context.Context, caller string, orders int) (leave func(), err error) {
	ctx, cancel := context.WithDeadline(ctx, s.deadlineOf(ctx))
	defer cancel()
	leave, err = s.many.Enter(ctx, caller, orders)
	switch {
	case errors.Is(err, turns.ErrFull), errors.Is(err, turns.ErrLate), errors.Is(err, context.DeadlineExceeded):
		return nil, s.overloaded
	case err != nil:
		return nil, stock.Unavailable(err, "wait for a turn")
	default:
		return leave, nil
	}
}

// firstOfEach tells for each order where the same one is for the first time.
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

// tellAll makes results of answers. Reservations that have to be ended first are ended together.
func (s *Service) tellAll(ctx context.Context, orders []SKUOrder, first []int, answers []answer) []Result {
	results := make([]Result, len(orders))
	var ending sync.WaitGroup
	for i, a := range answers {
		tell := func() {
			r := &results[i]
			r.Deduction, r.Created, r.Err = s.tell(ctx, orders[i].OrderID, a)
		}
		switch {
		case first[i] < i:
		case a.err == nil && a.deduction.Due(s.now()):
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
