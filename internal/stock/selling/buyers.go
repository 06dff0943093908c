package selling

import (
	"context"

	"inventory/internal/stock"
)

// maxSweeps bounds how often a batch waits for expired reservations to be given back: more expire meanwhile.
const maxSweeps = 3

// sellToEach sells a batch. Where buyers are counted it does so in rounds in which each has one order, for a store answers
// the orders of a batch as if they came at once.
func (w *worker) sellToEach(ctx context.Context, batch []*request) ([]*request, error) {
	if w.terms.PerBuyerLimit == 0 {
		return w.sell(ctx, batch)
	}
	for len(batch) > 0 {
		round, later := firstOfEachBuyer(batch)
		if rest, err := w.sell(ctx, round); err != nil {
			return append(rest, later...), err
		}
		batch = later
	}
	return nil, nil
}

func firstOfEachBuyer(batch []*request) (first, later []*request) {
	seen := make(map[string]bool, len(batch))
	for _, r := range batch {
		if seen[r.order.BuyerID] {
			later = append(later, r)
			continue
		}
		seen[r.order.BuyerID] = true
		first = append(first, r)
	}
	return first, later
}

// refuseLimited refuses orders whose buyers would hold too much. Where reservations have expired whose units are still
// counted, they go back first, and the orders are returned to be tried again.
//
// Whoever asks far over the limit has more orders in the queue: those that ask for as much are refused along with it, so that
// a batch is not a place for one of them each. A winner's retry among them is looked up.
func (w *worker) refuseLimited(ctx context.Context, limited []*request, stale bool) (again []*request) {
	if len(limited) == 0 {
		return nil
	}
	if stale && w.sweeps < maxSweeps {
		return w.expireFor(ctx, limited)
	}
	refusal := stock.BuyerLimited(w.sku, w.terms.PerBuyerLimit)
	least := make(map[string]int64, len(limited)) // units that are too many, per buyer
	for _, r := range limited {
		least[r.order.BuyerID] = r.order.Quantity
		r.refuse(refusal)
	}
	crowd := w.queue.drain(func(r *request) bool {
		quantity, refused := least[r.order.BuyerID]
		return refused && r.order.Quantity >= quantity
	})
	unknown, err := w.replyKnown(ctx, crowd)
	if err != nil {
		refuseAll(crowd, err)
		return nil
	}
	refuseAll(unknown, refusal)
	return nil
}

// sweep gives back what has expired, and returns the requests that wait for it, to be tried again. Where it fails, it
// answers them here: others of their batch have answers, and it must not be done over.
func (w *worker) expireFor(ctx context.Context, waiting []*request) (again []*request) {
	w.sweeps++
	w.levels = nil
	if _, err := w.service.expire(ctx, w.sku); err != nil {
		refuseAll(waiting, err)
		return nil
	}
	return waiting
}

func refuseAll(requests []*request, err error) {
	for _, r := range requests {
		r.refuse(err)
	}
}
