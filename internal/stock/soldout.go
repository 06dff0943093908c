package stock

import (
	"context"
	"time"
)

// refuseSoldOut answers a batch from what is known: nothing is left. It returns the requests it cannot answer.
//
// The lane knows that by itself, from a merge that saw zero under the locks of all rows, or from the SKU's memory. Order
// ids are looked up after the zero was seen, so a winner's row is there. What comes here are the retries of winners that
// the memory knows, and everybody while there is none.
func (l *lane) refuseSoldOut(ctx context.Context, batch []*request) ([]*request, error) {
	if !l.isSoldOut() {
		return batch, nil
	}
	unknown, err := l.settleKnown(ctx, batch)
	if err != nil {
		return batch, err
	}
	if !l.isSoldOut() { // the look-up took long
		return unknown, nil
	}
	l.service.observer.SoldOutFromMemory(len(unknown))
	for _, r := range unknown {
		r.refuse(soldOutError(l.sku))
	}
	return nil, nil
}

// settleKnown answers those whose order ids have deductions already, and returns the others.
func (l *lane) settleKnown(ctx context.Context, requests []*request) (unknown []*request, err error) {
	if len(requests) == 0 {
		return nil, nil
	}
	ids := make([]string, len(requests))
	for i, r := range requests {
		ids[i] = r.order.OrderID
	}
	known, err := l.service.store.Deductions(ctx, l.sku, ids)
	if err != nil {
		return nil, unavailable(err, "look up order ids")
	}
	for _, r := range requests {
		if d, ok := known[r.order.OrderID]; ok {
			r.settle(Outcome{Kind: Known, Deduction: d})
		} else {
			unknown = append(unknown, r)
		}
	}
	return unknown, nil
}

// settleFormer answers those who ask with an id of their own for an order that the shop made for them under that id, and
// returns the others.
func (l *lane) settleFormer(ctx context.Context, requests []*request) (others []*request, err error) {
	var ids []string
	for _, r := range requests {
		if r.order.Own {
			_, orderID := SplitOrderKey(r.order.OrderID)
			ids = append(ids, orderID)
		}
	}
	if ids == nil {
		return requests, nil
	}
	shops, err := l.service.store.Deductions(ctx, l.sku, ids)
	if err != nil {
		return requests, unavailable(err, "look up order ids")
	}
	for _, r := range requests {
		_, orderID := SplitOrderKey(r.order.OrderID)
		if d, ok := shops[orderID]; ok && r.order.Own && d.BuyerID == r.order.BuyerID {
			r.settle(Outcome{Kind: Known, Deduction: d})
		} else {
			others = append(others, r)
		}
	}
	return others, nil
}

func (l *lane) isSoldOut() bool {
	if !l.soldOut.IsZero() && time.Since(l.soldOut) < soldOutFor && !l.service.over(l.until) {
		return true
	}
	return l.service.memories.of(l.sku).live()
}

// over tells whether an instant at which a reservation expires has come; the zero time is none.
func (s *Service) over(until time.Time) bool { return !until.IsZero() && !s.now().Before(until) }

// noteSold ends what is remembered if something was sold: units have come, and an order that is told of its stock must
// not be refused when it asks again.
func (l *lane) noteSold(kind EventKind, at time.Time, outcomes []Outcome) {
	sold := Event{Kind: kind, SKU: l.sku, At: at}
	for _, o := range outcomes {
		if o.Kind == Accepted {
			sold.Orders++
			sold.Units += o.Deduction.Quantity
		}
	}
	if sold.Orders > 0 {
		l.service.memories.forget(l.sku)
		l.service.events.Publish(sold)
	}
}
