package selling

import (
	"context"
	"time"

	"inventory/internal/stock"
)

// refuseSoldOut answers a batch from what is known: nothing is left. It returns the requests it cannot answer.
//
// The lane knows that by itself, from a merge that saw zero under the locks of all rows, or from the SKU's memory. Order
// ids are looked up after the zero was seen, so a winner's row is there. What comes here are the retries of winners that
// the memory knows, and everybody while there is none.
func (w *worker) refuseSoldOut(ctx context.Context, batch []*request) ([]*request, error) {
	if !w.isSoldOut() {
		return batch, nil
	}
	unknown, err := w.replyKnown(ctx, batch)
	if err != nil {
		return batch, err
	}
	if !w.isSoldOut() { // the look-up took long
		return unknown, nil
	}
	w.service.observer.SoldOutFromCache(len(unknown))
	for _, r := range unknown {
		r.refuse(stock.SoldOutError(w.sku))
	}
	return nil, nil
}

// settleKnown answers those whose order ids have deductions already, and returns the others.
func (w *worker) replyKnown(ctx context.Context, requests []*request) (unknown []*request, err error) {
	if len(requests) == 0 {
		return nil, nil
	}
	ids := make([]string, len(requests))
	for i, r := range requests {
		ids[i] = r.order.OrderID
	}
	known, err := w.service.store.Deductions(ctx, w.sku, ids)
	if err != nil {
		return nil, stock.Unavailable(err, "look up order ids")
	}
	for _, r := range requests {
		if d, ok := known[r.order.OrderID]; ok {
			r.replyOutcome(stock.Outcome{Kind: stock.Known, Deduction: d})
		} else {
			unknown = append(unknown, r)
		}
	}
	return unknown, nil
}

// settleFormer answers those who ask with an id of their own for an order that the shop made for them under that id, and
// returns the others.
func (w *worker) replyShopOrders(ctx context.Context, requests []*request) (others []*request, err error) {
	var ids []string
	for _, r := range requests {
		if r.order.Own {
			_, orderID := stock.SplitOrderKey(r.order.OrderID)
			ids = append(ids, orderID)
		}
	}
	if ids == nil {
		return requests, nil
	}
	shops, err := w.service.store.Deductions(ctx, w.sku, ids)
	if err != nil {
		return requests, stock.Unavailable(err, "look up order ids")
	}
	for _, r := range requests {
		_, orderID := stock.SplitOrderKey(r.order.OrderID)
		if d, ok := shops[orderID]; ok && r.order.Own && d.BuyerID == r.order.BuyerID {
			r.replyOutcome(stock.Outcome{Kind: stock.Known, Deduction: d})
		} else {
			others = append(others, r)
		}
	}
	return others, nil
}

func (w *worker) isSoldOut() bool {
	if !w.soldOut.IsZero() && time.Since(w.soldOut) < soldOutFor && !w.service.over(w.until) {
		return true
	}
	return w.service.soldOut.entry(w.sku).valid()
}

// over tells whether an instant at which a reservation expires has come; the zero time is none.
func (s *Service) over(until time.Time) bool { return !until.IsZero() && !s.now().Before(until) }

// noteSold ends what is remembered if something was sold: units have come, and an order that is told of its stock must
// not be refused when it asks again.
func (w *worker) noteSold(kind stock.EventKind, at time.Time, outcomes []stock.Outcome) {
	sold := stock.Event{Kind: kind, SKU: w.sku, At: at}
	for _, o := range outcomes {
		if o.Kind == stock.Accepted {
			sold.Orders++
			sold.Units += o.Deduction.Quantity
		}
	}
	if sold.Orders > 0 {
		w.service.soldOut.invalidate(w.sku)
		w.service.events.Publish(sold)
	}
}
