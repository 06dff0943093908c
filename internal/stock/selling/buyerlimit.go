package selling

import (
	"context"
	"time"

	"inventory/internal/stock"
)

// mostExpiries bounds how often one batch waits for expired reservations to be given back, since more may expire meanwhile.
const mostExpiries = 3

// refuseLimited refuses orders whose buyers would hold too much. If reservations have expired whose units still count, they
// are given back first, and the orders are returned to be tried again.
//
// A buyer who orders far over the limit has more orders in the queue. Those of the same quantity or a larger one are refused
// with the first, so that they take no places in later batches; but not those that came after the write began, since the
// buyer may have got room meanwhile. Retries of accepted orders among them are looked up first.
func (w *worker) refuseLimited(ctx context.Context, limited []*request, began time.Time, stale bool) (again []*request) {
	if len(limited) == 0 {
		return nil
	}
	if stale && w.expiries < mostExpiries {
		return w.expireFor(ctx, limited)
	}
	refusal := stock.BuyerLimited(w.sku, w.terms.PerBuyerLimit)
	least := make(map[string]int64, len(limited)) // by buyer: a quantity that is too much
	for _, r := range limited {
		least[r.order.BuyerID] = r.order.Quantity
		r.refuse(refusal)
	}
	alike := w.queue.drain(func(r *request) bool {
		quantity, refused := least[r.order.BuyerID]
		return refused && r.order.Quantity >= quantity && !r.queued.After(began)
	})
	unknown, err := w.replyKnown(ctx, alike, shopID)
	if err == nil {
		unknown, err = w.replyKnown(ctx, unknown, ownID)
	}
	if err == nil {
		err = refusal
	}
	for _, r := range unknown {
		r.end(answer{err: err}, false) // whoever has joined it may have come later
	}
	return nil
}

// expireFor gives expired units back, and returns the requests that wait for them, to be tried again. If that fails, it
// refuses them itself: other requests of the batch have their answers, so the batch must not be repeated.
func (w *worker) expireFor(ctx context.Context, waiting []*request) (again []*request) {
	w.expiries++
	w.levels = nil
	if err := w.service.expire(ctx, w.sku); err != nil {
		refuseAll(waiting, err)
		return nil
	}
	return waiting
}
