package selling

import (
	"context"
	"errors"
	"time"

	"inventory/internal/stock"
	"inventory/internal/turns"
)

// SKUOrder is an order of a SKU.
type SKUOrder struct {
	SKU string
	stock.Order
}

// Check reports what is wrong with an order.
func (o SKUOrder) Check() error {
	if err := stock.CheckSKU(o.SKU); err != nil {
		return err
	}
	return o.Order.Check()
}

// Result is what became of an order: what [Service.Deduct] returns.
type Result struct {
	Deduction stock.Deduction
	Created   bool
	Err       error
}

// Deduct deducts stock for an order. Created is false when the same order was accepted before, and holds its units still;
// CodeOrderEnded means that it was accepted before, and holds nothing any more.
//
// Refusals are CodeSoldOut, CodeInsufficientStock, CodeBuyerLimit and CodeSaleClosed; they are not stored, so the order may
// be tried again. CodeInvalidRequest is also for what the SKU's terms do not allow. CodeOrderIDReused means that the order
// id belongs to an order with other content. After CodeUnavailable the outcome is unknown unless the error is [stock.ErrUnwritten], and
// the same call finds it out.
// ctx bounds the wait; if it ends during the write, the order may be accepted.
func (s *Service) Deduct(ctx context.Context, sku string, order stock.Order) (d stock.Deduction, created bool, err error) {
	return s.DeductBy(ctx, s.deadlineOf(ctx), sku, order)
}

// DeductBy is Deduct with a deadline, after which nothing is written for the order: at most AnswerWithin from now. ctx need not end then:
// workers watch the deadlines of all their requests, and a timer for each would cost more.
func (s *Service) DeductBy(ctx context.Context, deadline time.Time, sku string, order stock.Order) (d stock.Deduction, created bool, err error) {
	r, err := s.ask(ctx, deadline, sku, order)
	if err != nil {
		return stock.Deduction{}, false, err
	}
	a := s.resultOf(ctx, deadline, order.OrderID, await(ctx, r))
	return a.Deduction, a.Created, a.Err
}

// ask checks an order and puts it into the queue of its SKU, unless the sold-out cache refuses it. Nothing is written for it after
// the deadline.
func (s *Service) ask(ctx context.Context, deadline time.Time, sku string, order stock.Order) (*request, error) {
	if err := (SKUOrder{sku, order}).Check(); err != nil {
		return nil, err
	}
	orderID := order.OrderID
	order.OrderID = order.Key()
	if err := s.soldOut.entry(sku).refuse(order.OrderID, orderID); err != nil {
		s.observe(Activity{Kind: SoldOutFromCache, Count: 1})
		return nil, err
	}
	r := newRequest(ctx, deadline, order)
	return r, s.enqueue(sku, r)
}

// await waits for the answer to a request that is in a queue.
func await(ctx context.Context, r *request) Result {
	select {
	case <-r.answered:
		return r.result
	case <-ctx.Done():
		return Result{Err: stock.Unavailable(context.Cause(ctx), "wait for the answer")}
	}
}

// resultOf turns an answer into what the caller gets, under the order id that the caller sent.
func (s *Service) resultOf(ctx context.Context, deadline time.Time, orderID string, a Result) Result {
	if a.Err != nil {
		return a
	}
	d, err := s.upToDate(ctx, deadline, a.Deduction)
	if a.Created {
		err = stock.AfterWrite(err, "read the deduction")
	}
	d.OrderID = orderID
	if err == nil && !d.Status.Live() {
		return Result{Err: stock.OrderEnded(d)}
	}
	return Result{d, a.Created, err}
}

// A request of many orders puts all of them into the queues before it waits for the first answer, so they meet in the
// workers' batches. So that such requests leave room in every queue, callers take turns: at most manyUnderWay orders of all
// of them are under way, and small requests go before large ones.
const (
	manyUnderWay = queueLimit / 2
	manyWaiting  = 8 * queueLimit // orders of requests that wait for their turn
)

// DeductAll deducts stock for many orders, each as Deduct would alone, and returns the results in the same order. An
// order that is repeated in the list is a replay of its first. DeductAll itself fails only if the caller got no turn: then
// nothing was done.
func (s *Service) DeductAll(ctx context.Context, caller string, orders []SKUOrder) ([]Result, error) {
	return s.DeductAllBy(ctx, s.deadlineOf(ctx), caller, orders)
}

// DeductAllBy is DeductAll with a deadline, as that of DeductBy.
func (s *Service) DeductAllBy(ctx context.Context, deadline time.Time, caller string, orders []SKUOrder) ([]Result, error) {
	switch {
	case len(orders) == 0:
		return nil, nil
	case len(orders) > stock.MaxOrders:
		return nil, stock.Invalid("deductions", "must be 1 to %d", stock.MaxOrders)
	}
	leave, err := s.enter(ctx, deadline, s.many, caller, len(orders))
	if err != nil {
		return nil, err
	}
	defer leave()
	results, asked, first := make([]Result, len(orders)), make([]*request, len(orders)), make(map[SKUOrder]int, len(orders))
	for i, o := range orders {
		if _, again := first[o]; !again {
			first[o] = i
			asked[i], results[i].Err = s.ask(ctx, deadline, o.SKU, o.Order)
		}
	}
	for i, r := range asked {
		if r != nil && results[i].Err == nil {
			results[i] = s.resultOf(ctx, deadline, orders[i].OrderID, await(ctx, r))
		}
	}
	for i, o := range orders {
		if at := first[o]; at < i {
			results[i] = results[at]
			results[i].Created = false
		}
	}
	return results, nil
}

// enter waits for the turn of a request of some size, not after its deadline.
func (s *Service) enter(ctx context.Context, deadline time.Time, places *turns.Turns, caller string, size int) (leave func(), err error) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	leave, err = places.Enter(ctx, caller, size)
	switch {
	case errors.Is(err, turns.ErrFull), errors.Is(err, turns.ErrLate), errors.Is(err, context.DeadlineExceeded):
		return nil, overloaded("orders")
	case err != nil:
		return nil, stock.Unavailable(stock.Unwritten(err), "wait for a turn")
	default:
		return leave, nil
	}
}

// AnswerWithin is how long after it was read something may be written for a request.
func (s *Service) AnswerWithin() time.Duration { return s.answerWithin }

// DefaultAnswerWithin is how long after it was read a request may still be written, if the configuration does not say.
const DefaultAnswerWithin = 2 * time.Second

// deadlineOf is the instant after which nothing may be written for a request: the deadline of its context, but at most the configured time
// from now. If a caller has no answer by then, what has not happened never will.
func (s *Service) deadlineOf(ctx context.Context) time.Time {
	latest := time.Now().Add(s.answerWithin)
	if deadline, given := ctx.Deadline(); given && deadline.Before(latest) {
		return deadline
	}
	return latest
}

// write calls do with the context of a write. Such a context ends at a deadline, but not when the caller leaves: a commit is not cancelled in
// flight. Close waits for the write; when it has waited long enough, the context ends.
func (s *Service) write(ctx context.Context, deadline time.Time, do func(writing context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return stock.Unavailable(stock.Unwritten(err), "wait to be written")
	}
	if !s.begin() {
		return shuttingDown()
	}
	defer s.workers.running.Done()
	writing, end := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer end()
	keep := context.AfterFunc(s.base, end)
	defer keep()
	return do(writing)
}

// overtaken rests before the next try of a write that another one has overtaken, longer each time. There is no bound but the
// context's: nothing was written, and a change of the SKU that comes in between is no reason to refuse an order.
func overtaken(ctx context.Context, tries int) {
	select {
	case <-time.After(time.Duration(min(tries, mostRest)-1) * time.Millisecond):
	case <-ctx.Done():
	}
}

const mostRest = 10 // milliseconds
