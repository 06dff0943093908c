package selling

import (
	"cmp"
	"context"
	"slices"

	"inventory/internal/stock"
)

// refuseByTerms answers what the SKU's terms do not allow, and returns the others. A winner who asks again after the end of
// the sale hears of its order still; before the beginning there is none.
func (w *worker) refuseByTerms(ctx context.Context, batch []*request) (allowed []*request, err error) {
	if w.terms == nil {
		if err := w.readSKU(ctx); err != nil {
			return batch, err
		}
	}
	var now []*request // refused now, and perhaps accepted before
	for _, r := range batch {
		if err := w.terms.Allow(w.sku, r.order); err != nil {
			r.refuse(err)
		} else if w.service.refusesNow(*w.terms, w.sku, r.order) != nil {
			now = append(now, r)
		} else {
			allowed = append(allowed, r)
		}
	}
	unknown := now
	if begun := !w.service.now().Before(w.terms.SaleStartsAt); begun {
		if unknown, err = w.replyKnown(ctx, now); err != nil {
			return slices.Concat(now, allowed), err
		}
	}
	for _, r := range unknown {
		if err := w.service.refusesNow(*w.terms, w.sku, r.order); err != nil {
			r.refuse(err)
		} else { // it has begun meanwhile
			allowed = append(allowed, r)
		}
	}
	return allowed, nil
}

// refusesNow returns the refusal of an order that may have been accepted before: then its terms were met, or another process
// has other bounds, or it is about another order of the same id.
func (s *Service) refusesNow(t stock.Terms, sku string, o stock.Order) error {
	if err := cmp.Or(t.SaleWindow().Refusal(sku, s.now()), t.Exceeds(sku, o, s.maxReserve)); err != nil {
		return err
	}
	if t.PerBuyerLimit > 0 && o.Quantity > t.PerBuyerLimit {
		return stock.BuyerLimited(sku, t.PerBuyerLimit)
	}
	return nil
}
