package stock

import (
	"context"
	"errors"
	"time"
)

// settler commits and cancels deductions of one SKU in this process: a queue, and a goroutine that settles all that has
// queued in one write. It needs no lock: a commit changes no segment, and what comes back is added to rows relatively.
type settler struct {
	service *Service
	sku     string
	queue   *queue
}

// Settle commits or cancels a deduction, and returns it as it is then. What has happened already is no error, so a wish may
// be sent again. CodeNotReserved is for committing what is cancelled or has expired, or is committed with another
// quantity. Where the wish names a buyer, another's deduction is unknown.
func (s *Service) Settle(ctx context.Context, sku string, wish Wish) (Deduction, error) {
	if err := checkSKU(sku); err != nil {
		return Deduction{}, err
	}
	if err := wish.check(); err != nil {
		return Deduction{}, err
	}
	r := s.newRequest(ctx, Order{OrderID: wish.OrderID, BuyerID: wish.BuyerID})
	r.wish = wish
	for {
		settler, err := s.settler(sku)
		if err == nil {
			_, err = settler.queue.push(r, queueLimit)
		}
		if errors.Is(err, errRetired) {
			continue
		}
		if err != nil {
			s.used(r)
			return Deduction{}, err
		}
		break
	}
	select {
	case answer := <-r.answer:
		s.used(r)
		return answer.deduction, answer.err
	case <-ctx.Done():
		return Deduction{}, unavailable(context.Cause(ctx), "wait for the settler")
	}
}

func (w Wish) check() error {
	if err := checkText("order_id", w.OrderID, maxIDBytes); err != nil {
		return err
	}
	if w.Quantity == 0 {
		return nil
	}
	return checkQuantity(w.Quantity)
}

func (s *Service) settler(sku string) (*settler, error) {
	s.lanes.Lock()
	defer s.lanes.Unlock()
	if s.lanes.stopped {
		return nil, &Error{Code: CodeUnavailable, Message: "the service is shutting down"}
	}
	known := s.lanes.settle[sku]
	if known == nil {
		known = &settler{service: s, sku: sku, queue: newQueue()}
		s.lanes.settle[sku] = known
		s.lanes.running.Go(known.run)
	}
	return known, nil
}

// run settles until nobody has asked for a while, or the service stops.
func (t *settler) run() {
	for {
		if batch := t.queue.take(1, batchLimit, queueWait); len(batch) > 0 {
			t.serve(batch)
			continue
		}
		if t.service.within(laneIdle, t.queue.arrived) {
			continue
		}
		if t.retire() {
			return
		}
	}
}

// retire takes the settler out of the service unless a request has come in.
func (t *settler) retire() bool {
	s := t.service
	s.lanes.Lock()
	defer s.lanes.Unlock()
	if !t.queue.retire() {
		return false
	}
	delete(s.lanes.settle, t.sku)
	return true
}

func (t *settler) serve(batch []*request) {
	ctx, cancel := context.WithTimeout(t.service.base, writeLimit)
	defer cancel()
	rest, err := apart(batch, func(requests []*request) ([]*request, error) { return requests, t.write(ctx, requests) })
	if err != nil {
		for _, r := range rest {
			r.refuse(unavailable(err, "settle"))
		}
	}
}

// write settles requests in one transaction, and answers them.
func (t *settler) write(ctx context.Context, requests []*request) error {
	s := t.service
	settlement := Settlement{SKU: t.sku, At: s.now(), Wishes: make([]Wish, len(requests))}
	returning := false
	for i, r := range requests {
		settlement.Wishes[i] = r.wish
		returning = returning || r.wish.Cancel || r.wish.Quantity > 0
	}
	start := time.Now()
	results, err := s.store.Settle(ctx, settlement)
	if returning {
		s.forget(t.sku) // also after an error: the units may be back
	}
	if err != nil {
		s.noteGuard(t.sku, err)
		return err
	}
	s.observer.SettlementWritten(len(requests), time.Since(start))
	back := Event{Kind: EventBackInStock, SKU: t.sku, At: settlement.At}
	for i, r := range requests {
		back.Units += results[i].Returned
		r.tell(answer{deduction: results[i].Deduction, err: results[i].Err})
	}
	if back.Units > 0 {
		s.events.Publish(back)
	}
	return nil
}
