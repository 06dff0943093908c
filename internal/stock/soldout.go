package stock

import (
	"context"
	"time"
)

// refuseSoldOut answers a batch from the memory that nothing is left, and returns the requests it cannot answer.
//
// The memory is made by a merge, which saw zero under the locks of all rows, and ends after soldOutFor, or at
// once when this process restocks. An order id that was accepted before still gets its answer: the ids are looked
// up after the zero was seen, so a winner's row is there. One whose stock came from a restock in another process
// within that second, and whose commit is still under way, is not: it is told "sold out", and asking again tells it.
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
	return !l.soldOut.IsZero() && time.Since(l.soldOut) < soldOutFor
}
