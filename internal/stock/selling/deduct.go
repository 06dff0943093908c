package selling

import (
	"context"
	"errors"
	"time"

	"inventory/internal/stock"
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

// Deduct deducts stock for an order. Created is false when the same order was accepted before.
//
// Refusals are CodeSoldOut, CodeInsufficientStock, CodeBuyerLimit and CodeSaleClosed; they are not stored, so the order may
// be tried again. CodeInvalidRequest is also for what the SKU's terms do not allow. CodeOrderIDReused means that the order
// id belongs to an order with other content. After CodeUnavailable the outcome is unknown unless the error is [stock.ErrUnwritten], and
// the same call finds it out.
// ctx bounds the wait; if it ends during the write, the order may be accepted.
func (s *Service) Deduct(ctx context.Context, sku string, order stock.Order) (d stock.Deduction, created bool, err error) {
	r, err := s.ask(ctx, s.deadlineOf(ctx), sku, order)
	if err != nil {
		return stock.Deduction{}, false, err
	}
	return s.tell(ctx, order.OrderID, s.await(ctx, r))
}

// ask checks an order and puts it into the queue of its SKU, unless the sold-out cache refuses it. Nothing is written for it after
// the deadline.
func (s *Service) ask(ctx context.Context, deadline time.Time, sku string, order stock.Order) (*request, error) {
	if err := (SKUOrder{sku, order}).Check(); err != nil {
		return nil, err
	}
	orderID := order.OrderID
	order.OrderID = order.Key()
	known := s.soldOut.entry(sku)
	if err := known.refuse(order.OrderID); err != nil && !(order.Own && known.has(orderID)) {
		s.observer.SoldOutFromCache(1)
		return nil, err
	}
	return s.enqueue(ctx, deadline, sku, order)
}

// await waits for the answer to a request that is in a queue.
func (s *Service) await(ctx context.Context, r *request) answer {
	select {
	case a := <-r.answer:
		s.used(r)
		return a
	case <-ctx.Done():
		return answer{err: stock.Unavailable(context.Cause(ctx), "wait for the answer")}
	}
}

// tell turns an answer into what the caller gets, under the order id that the caller sent.
func (s *Service) tell(ctx context.Context, orderID string, a answer) (d stock.Deduction, created bool, err error) {
	if a.err != nil {
		return stock.Deduction{}, false, a.err
	}
	if d, err = s.upToDate(ctx, a.deduction); a.created {
		err = stock.AfterWrite(err, "read the deduction")
	}
	d.OrderID = orderID
	return d, a.created && d.Status != stock.StatusExpired, err
}

// enqueue puts an order into the queue of its SKU, and has the queue served if nobody does.
func (s *Service) enqueue(ctx context.Context, deadline time.Time, sku string, order stock.Order) (*request, error) {
	for {
		w := s.worker(sku)
		if w.queue.length() >= queueLimit { // refuse before any work: under overload nearly all orders end here
			return nil, s.overloaded
		}
		r := s.newRequest(ctx, deadline, order)
		switch serve, err := s.push(w.queue, r); {
		case errors.Is(err, errRetired):
			continue // it was forgotten before the push: take another
		case err != nil:
			s.used(r)
			return nil, err
		case serve:
			w.step()
		}
		return r, nil
	}
}

// newRequest returns a request, new or from the pool.
func (s *Service) newRequest(ctx context.Context, deadline time.Time, o stock.Order) *request {
	r := s.requests.Get().(*request)
	r.ctx, r.order, r.queued, r.deadline, r.sent = ctx, o, time.Now(), deadline, false
	return r
}

// used puts a request back into the pool. Its answer has been taken, so nothing else refers to it.
func (s *Service) used(r *request) {
	r.ctx, r.order, r.settle, r.queue = nil, stock.Order{}, stock.SettleRequest{}, nil
	s.requests.Put(r)
}
