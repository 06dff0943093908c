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
func (s *Service) Settle(ctx context.Context, sku string, wish SettleRequest) (Deduction, error) {
	if err := checkSKU(sku); err != nil {
		return Deduction{}, err
	}
	if err := wish.check(); err != nil {
		return Deduction{}, err
	}
	orderID := wish.OrderID
	key, err := s.keyOf(ctx, sku, orderID, wish.BuyerID)
	if err != nil {
		return Deduction{}, err
	}
	wish.OrderID = key
	d, err := s.settle(ctx, sku, wish)
	if err != nil {
		return Deduction{}, err
	}
	d.OrderID = orderID
	return d, nil
}

// settle settles the deduction of a key.
func (s *Service) settle(ctx context.Context, sku string, wish SettleRequest) (Deduction, error) {
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

func (w SettleRequest) check() error {
	if err := checkKnownText("order_id", w.OrderID, maxIDBytes); err != nil {
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
	ctx, cancel := context.WithDeadline(t.service.base, latest(batch))
	defer cancel()
	var err error
	for len(batch) > 0 && err == nil {
		if batch, err = apart(batch, func(requests []*request) ([]*request, error) { return t.write(ctx, requests) }); err == nil {
			err = context.Cause(ctx)
		}
	}
	refuseAll(batch, unavailable(err, "settle"))
}

// write settles requests in one transaction, and answers them. It returns those that were together with one that came too
// late.
func (t *settler) write(ctx context.Context, requests []*request) ([]*request, error) {
	if requests = present(requests); len(requests) == 0 {
		return nil, nil
	}
	s := t.service
	settlement := Settlement{SKU: t.sku, Deadline: earliest(requests), At: s.at(), Requests: make([]SettleRequest, len(requests))}
	returning := false
	for i, r := range requests {
		settlement.Requests[i] = r.wish
		returning = returning || r.wish.Cancel || r.wish.ExpireOnly || r.wish.Quantity > 0
	}
	start := time.Now()
	results, err := s.store.Settle(ctx, settlement)
	if returning {
		s.forget(t.sku) // also after an error: the units may be back
	}
	if errors.Is(err, ErrLate) {
		return requests, nil
	}
	if err != nil {
		s.noteGuard(t.sku, err)
		return requests, err
	}
	s.observer.SettlementWritten(len(requests), time.Since(start))
	back := Event{Kind: EventBackInStock, SKU: t.sku, At: s.now()}
	for i, r := range requests {
		back.Units += results[i].Returned
		r.tell(answer{deduction: results[i].Deduction, err: results[i].Err})
	}
	if back.Units > 0 {
		if !returning { // a reservation that was to be committed had expired
			s.forget(t.sku)
		}
		s.events.Publish(back)
	}
	return nil, nil
}
