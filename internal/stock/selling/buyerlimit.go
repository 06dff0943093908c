package selling

import (
	"context"

	"inventory/internal/stock"
)

// mostExpiries bounds how often a batch waits for expired reservations to be given back: more expire meanwhile.
const mostExpiries = 3

// refuseLimited refuses orders whose buyers would hold too much. If reservations have expired whose units still count, they
// are given back first, and the orders are returned to be tried again.
//
// A buyer who asks far over the limit has more orders in the queue. Those that ask for as much are refused along with the
// first, so that each does not take a place in a batch. A winner's retry among them is looked up.
func (w *worker) refuseLimited(ctx context.Context, limited []*request, stale bool) (again []*request) {
	if len(limited) == 0 {
		return nil
	}
	if stale && w.expiries < mostExpiries {
		return w.expireFor(ctx, limited)
	}
	refusal := stock.BuyerLimited(w.sku, w.terms.PerBuyerLimit)
	least := make(map[string]int64, len(limited)) // units that are too many, per buyer
	for _, r := range limited {
		least[r.order.BuyerID] = r.order.Quantity
		r.refuse(refusal)
	}
	alike := w.queue.drain(func(r *request) bool {
		quantity, refused := least[r.order.BuyerID]
		return refused && r.order.Quantity >= quantity
	})
	unknown, err := w.replyKnown(ctx, alike, ownID)
	if err != nil {
		refuseAll(unknown, err)
	} else {
		refuseAll(unknown, refusal)
	}
	return nil
}

// expireFor gives back what has expired, and returns the requests that wait for it, to be tried again. If that fails, it
// answers them here: others of their batch have answers, so the batch must not be done over.
func (w *worker) expireFor(ctx context.Context, waiting []*request) (again []*request) {
	w.expiries++
	w.levels = nil
	if err := w.service.expire(ctx, w.sku); err != nil {
		refuseAll(waiting, err)
		return nil
	}
	return waiting
}
