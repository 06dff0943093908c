package selling

import (
	"cmp"
	"context"
	"errors"
	"time"

	"inventory/internal/stock"
)

// settler commits, cancels and amends deductions of one SKU in this process. It is a queue, and a goroutine that carries out
// all queued requests in one write while there are any. It needs no lock: a commit or an extension changes no segment, and units that come back
// are added to rows relatively.
type settler struct {
	service *Service
	sku     string
	queue   *queue
}

// Settle commits, cancels or amends a deduction, and returns it as it is then. A request may be repeated: what has happened
// already is no error. CodeNotReserved: a commit of a deduction that is cancelled, has expired, or is committed with another
// quantity; an extension of one that is not reserved; a return of a part of one that is cancelled or has expired.
// CodeRefReused: another amendment of the deduction has the ref. If the request names a buyer, deductions of other buyers
// are unknown.
func (s *Service) Settle(ctx context.Context, sku string, to stock.SettleRequest) (stock.Deduction, error) {
	if err := stock.CheckSKU(sku); err != nil {
		return stock.Deduction{}, err
	}
	if err := to.Check(); err != nil {
		return stock.Deduction{}, err
	}
	deadline := s.deadlineOf(ctx) // from before what is looked up
	looking, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	orderID := to.OrderID
	key, err := s.keyOf(looking, sku, orderID, to.BuyerID)
	if err != nil {
		return stock.Deduction{}, err
	}
	to.OrderID = key
	if to.Extend > 0 {
		if to.MostExtend, err = s.longestReservation(looking, sku); err != nil {
			return stock.Deduction{}, err
		}
	}
	d, err := s.settleKey(ctx, deadline, sku, to)
	if err != nil {
		return stock.Deduction{}, err
	}
	d.OrderID = orderID
	return d, nil
}

// longestReservation returns how long a reservation of a SKU may last.
func (s *Service) longestReservation(ctx context.Context, sku string) (time.Duration, error) {
	view, err := s.view(ctx, sku)
	if err != nil {
		return 0, err
	}
	return cmp.Or(view.Terms.MaxReserveFor, s.maxReserve), nil
}

// settleKey settles the deduction of a key, not after the deadline.
func (s *Service) settleKey(ctx context.Context, deadline time.Time, sku string, to stock.SettleRequest) (stock.Deduction, error) {
	r := s.newRequest(ctx, deadline, stock.Order{OrderID: to.OrderID, BuyerID: to.BuyerID})
	r.settle = to
	for {
		settler := s.settler(sku)
		serve, err := s.push(settler.queue, r)
		if errors.Is(err, errRetired) {
			continue
		}
		if err != nil {
			s.used(r)
			return stock.Deduction{}, err
		}
		if serve {
			go settler.run()
		}
		break
	}
	a := s.await(ctx, r)
	return a.deduction, a.err
}

// run serves the queue until nothing waits.
func (t *settler) run() {
	defer t.service.workers.running.Done()
	for {
		if batch := t.queue.pop(batchLimit); len(batch) > 0 {
			t.serve(batch)
		} else if t.queue.leave() {
			return
		}
	}
}

func (t *settler) serve(batch []*request) {
	ctx, cancel := context.WithDeadline(t.service.base, lastDeadline(batch))
	defer cancel()
	var err error
	for len(batch) > 0 && err == nil {
		if batch, err = isolate(batch, func(requests []*request) ([]*request, error) { return t.write(ctx, requests) }); err == nil {
			err = stock.Unwritten(context.Cause(ctx))
		}
	}
	refuseAll(batch, stock.Unavailable(err, "settle"))
}

// write settles requests in one transaction, and answers them. It returns all of them if one was too late.
func (t *settler) write(ctx context.Context, requests []*request) ([]*request, error) {
	if requests = stillWaiting(requests); len(requests) == 0 {
		return nil, nil
	}
	s := t.service
	settlement := stock.Settlement{SKU: t.sku, Deadline: firstDeadline(requests), At: s.at(), Requests: make([]stock.SettleRequest, len(requests))}
	returning := false
	for i, r := range requests {
		settlement.Requests[i] = r.settle
		returning = returning || r.settle.MayReturn()
	}
	start := time.Now()
	results, err := s.store.Settle(ctx, settlement)
	units := int64(0)
	for _, result := range results {
		units += result.Returned
	}
	// Before the replies: the next order of a caller finds the units. Also after an error: the units may be back. And a commit
	// that finds an expired reservation gives its units back.
	if returning || units > 0 {
		s.onRestock(t.sku)
	}
	if errors.Is(err, stock.ErrLate) {
		return requests, nil
	}
	if err != nil {
		s.noteGuard(t.sku, err)
		return requests, err
	}
	s.observer.SettlementWritten(len(requests), time.Since(start))
	for i, r := range requests {
		r.reply(answer{deduction: results[i].Deduction, err: results[i].Err})
	}
	if units > 0 {
		s.events.Publish(stock.Event{Kind: stock.EventBackInStock, SKU: t.sku, Units: units, At: s.now()})
	}
	return nil, nil
}
