package stock

import (
	"context"
	"slices"
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
	ids := make([]string, len(batch))
	for i, r := range batch {
		ids[i] = r.order.OrderID
	}
	known, err := l.service.store.Deductions(ctx, l.sku, ids)
	if err != nil {
		return batch, unavailable(err, "look up order ids")
	}
	var unknown []*request
	for _, r := range batch {
		if d, ok := known[r.order.OrderID]; ok {
			r.settle(Outcome{Verdict: Known, Deduction: d})
		} else {
			unknown = append(unknown, r)
		}
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

func (l *lane) isSoldOut() bool {
	if !l.soldOut.IsZero() && time.Since(l.soldOut) < soldOutFor {
		return true
	}
	return l.service.memories.of(l.sku).live()
}

// noteSold ends what is remembered if something was sold: units have come, and an order that is told of its stock must
// not be refused when it asks again.
func (l *lane) noteSold(outcomes []Outcome) {
	if slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Verdict == Accepted }) {
		l.service.memories.forget(l.sku)
	}
}
