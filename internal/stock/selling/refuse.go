package selling

import (
	"context"
	"slices"
	"time"

	"inventory/internal/stock"
)

// refuse answers what needs no stock, and returns the other requests. After an error it returns those without an answer.
func (w *worker) refuse(ctx context.Context, batch []*request) ([]*request, error) {
	rest, err := w.replyKnown(ctx, batch, shopID)
	if err == nil {
		rest, err = w.refuseByTerms(ctx, rest)
	}
	if err == nil {
		rest, err = w.refuseSoldOut(ctx, rest)
	}
	return rest, err
}

// replyKnown answers requests whose order ids have deductions already, and returns the others. key returns the id to look
// up, "" for none.
func (w *worker) replyKnown(ctx context.Context, requests []*request, key func(stock.Order) string) (unknown []*request, err error) {
	var keys []string
	for _, r := range requests {
		if k := key(r.order); k != "" {
			keys = append(keys, k)
		}
	}
	if keys == nil {
		return requests, nil
	}
	known, err := w.service.store.Deductions(ctx, w.sku, keys)
	if err != nil {
		return requests, stock.Unavailable(stock.Unwritten(err), "look up order ids")
	}
	for i, r := range requests {
		k := key(r.order)
		d, ok := known[k]
		if ok && k != r.order.OrderID && !d.Answers(r.order) { // the buyer may have got it by a change, and have an own order of that id
			own, err := w.service.store.Deductions(ctx, w.sku, []string{r.order.OrderID})
			if err != nil {
				return slices.Concat(unknown, requests[i:]), stock.Unavailable(stock.Unwritten(err), "look up order ids")
			}
			_, is := own[r.order.OrderID]
			ok = !is
		}
		if ok && (k == r.order.OrderID || d.BuyerID == r.order.BuyerID) {
			r.replyOutcome(stock.Outcome{Kind: stock.Known, Deduction: d})
		} else {
			unknown = append(unknown, r)
		}
	}
	return unknown, nil
}

// ownID returns the order key of a request.
func ownID(o stock.Order) string { return o.OrderID }

// shopID returns the id under which the shop may have made the order for the buyer.
func shopID(o stock.Order) string {
	if !o.Own {
		return ""
	}
	_, orderID := stock.SplitOrderKey(o.OrderID)
	return orderID
}

// refuseByTerms answers the requests that the SKU's terms do not allow, and returns the others. A refusal may be as old as soldOutFor.
// If a try takes longer, it refuses nothing, and is repeated while a caller waits.
func (w *worker) refuseByTerms(ctx context.Context, batch []*request) (left []*request, err error) {
	for left = batch; slices.ContainsFunc(left, w.refusesNow); { // nearly always none
		try, cancel := context.WithTimeout(ctx, soldOutFor)
		left, err = w.tryRefuseByTerms(try, left)
		tooLong := try.Err() != nil
		cancel()
		if err == nil || !tooLong || ctx.Err() != nil {
			return left, err
		}
	}
	return left, nil
}

// tryRefuseByTerms returns the requests that it has not answered. The terms may have changed in another process, so they are read again
// before they refuse anything. An order that was accepted before is still answered as a replay, whatever the terms are now.
func (w *worker) tryRefuseByTerms(ctx context.Context, batch []*request) (allowed []*request, err error) {
	if err := w.refresh(ctx); err != nil {
		return batch, err
	}
	var refused []*request
	for _, r := range batch {
		if w.refusesNow(r) {
			refused = append(refused, r)
		} else {
			allowed = append(allowed, r)
		}
	}
	unknown, err := w.replyKnown(ctx, refused, ownID)
	if err == nil && ctx.Err() != nil {
		err = stock.Unavailable(stock.Unwritten(ctx.Err()), "look up order ids")
	}
	if err != nil {
		return slices.Concat(unknown, allowed), err
	}
	for _, r := range unknown {
		if err := w.byTerms(r); err != nil {
			r.refuse(err)
		} else { // the sale has begun meanwhile
			allowed = append(allowed, r)
		}
	}
	return allowed, nil
}

// byTerms returns why the terms, as last read, refuse a request now.
func (w *worker) byTerms(r *request) error { return w.service.refuses(*w.terms, w.sku, r.order) }

// refusesNow reports whether the terms, as last read, refuse a request now.
func (w *worker) refusesNow(r *request) bool { return w.byTerms(r) != nil }

// refuses returns the refusal of an order by terms. It is no answer yet: the order may have been accepted before, on other
// terms or by a process with other bounds, or its id may belong to another order.
func (s *Service) refuses(t stock.Terms, sku string, o stock.Order) error {
	at, _ := s.between(sku) // no earlier than the clock was when the terms were read: so the refusal was true since
	return t.Refusal(sku, o, at, s.maxReserve)
}

// refuseSoldOut refuses a batch if the SKU is known to be sold out. It returns the requests that it cannot answer.
//
// The worker knows that from a merge that saw zero under the locks of all rows, or from the sold-out cache. It looks order
// ids up after the zero was seen, so the row of an accepted order is there. The requests here are retries of accepted
// orders that the cache knows, and all requests while the cache has no entry.
func (w *worker) refuseSoldOut(ctx context.Context, batch []*request) ([]*request, error) {
	if !w.isSoldOut() {
		return batch, nil
	}
	unknown, err := w.replyKnown(ctx, batch, ownID)
	if err != nil {
		return unknown, err
	}
	if !w.isSoldOut() { // the lookup took long
		return unknown, nil
	}
	w.service.observe(Activity{Kind: SoldOutFromCache, Count: len(unknown)})
	refuseAll(unknown, stock.SoldOutError(w.sku))
	return nil, nil
}

func (w *worker) isSoldOut() bool {
	if !w.soldOut.IsZero() && time.Since(w.soldOut) < soldOutFor && !w.service.over(w.sku, w.until) {
		return true
	}
	return w.service.soldOut.entry(w.sku).valid()
}

// mostExpiries bounds how often one batch waits for expired reservations to be given back, since more may expire meanwhile.
const mostExpiries = 3

// dueInGroup returns the SKUs of the group in which buyers who are at its limit have reservations that have expired. If they cannot be
// read, the refusal is as true as it was.
func (w *worker) dueInGroup(ctx context.Context, requests []*request, result stock.BatchResult) []string {
	if w.terms.LimitGroup == "" || w.expiries >= mostExpiries {
		return nil
	}
	var buyers []string
	for i, r := range requests {
		if result.Outcomes[i].Kind == stock.Limited {
			buyers = append(buyers, r.order.BuyerID)
		}
	}
	return w.service.dueInGroup(ctx, w.terms.CountedAt(w.sku), buyers...)
}

// dueInGroup returns the SKUs in which buyers have reservations that have expired and count in a group.
func (s *Service) dueInGroup(ctx context.Context, count string, buyers ...string) []string {
	if buyers == nil {
		return nil
	}
	skus, err := s.store.DueInGroup(ctx, count, buyers, s.at())
	if err != nil {
		s.log.Debug("expired reservations of a limit group are not looked for", "error", err)
	}
	return skus
}

// expireFor gives expired units back, also those of other SKUs, so that requests that wait for them may be tried again. If that fails, it refuses them itself:
// other requests of the batch have their answers, so the batch must not be repeated. A shared batch has a context without an end.
func (w *worker) expireFor(ctx context.Context, waiting []*request, others ...string) bool {
	ctx, cancel := context.WithDeadline(ctx, lastDeadline(waiting))
	defer cancel()
	w.expiries++
	w.levels = nil
	err := w.service.expireAll(ctx, append(others, w.sku)...)
	if err != nil {
		refuseAll(waiting, err)
	}
	return err == nil
}
