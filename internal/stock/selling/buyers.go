package selling

import (
	"context"

	"inventory/internal/stock"
)

// maxSweeps bounds how often a batch waits for expired reservations to be given back: more expire meanwhile.
const maxSweeps = 3

// sellToEach sells a batch. Where buyers are counted it does so in rounds in which each has one order, for a store answers
// the orders of a batch as if they came at once.
func (l *lane) sellToEach(ctx context.Context, batch []*request) ([]*request, error) {
	if l.terms.PerBuyerLimit == 0 {
		return l.sell(ctx, batch)
	}
	for len(batch) > 0 {
		round, later := firstOfEachBuyer(batch)
		if rest, err := l.sell(ctx, round); err != nil {
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
func (l *lane) refuseLimited(ctx context.Context, limited []*request, stale bool) (again []*request) {
	if len(limited) == 0 {
		return nil
	}
	if stale && l.sweeps < maxSweeps {
		return l.sweep(ctx, limited)
	}
	refusal := stock.BuyerLimited(l.sku, l.terms.PerBuyerLimit)
	least := make(map[string]int64, len(limited)) // units that are too many, per buyer
	for _, r := range limited {
		least[r.order.BuyerID] = r.order.Quantity
		r.refuse(refusal)
	}
	crowd := l.queue.takeAll(func(r *request) bool {
		quantity, refused := least[r.order.BuyerID]
		return refused && r.order.Quantity >= quantity
	})
	unknown, err := l.settleKnown(ctx, crowd)
	if err != nil {
		refuseAll(crowd, err)
		return nil
	}
	refuseAll(unknown, refusal)
	return nil
}

// sweep gives back what has expired, and returns the requests that wait for it, to be tried again. Where it fails, it
// answers them here: others of their batch have answers, and it must not be done over.
func (l *lane) sweep(ctx context.Context, waiting []*request) (again []*request) {
	l.sweeps++
	l.levels = nil
	if _, err := l.service.expire(ctx, l.sku); err != nil {
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
