package selling

import (
	"cmp"
	"context"
	"slices"

	"inventory/internal/stock"
)

// refuseByTerms answers what the SKU's terms do not allow, and returns the others. A winner who asks again after the end of
// the sale hears of its order still; before the beginning there is none.
func (l *lane) refuseByTerms(ctx context.Context, batch []*request) (allowed []*request, err error) {
	if l.terms == nil {
		if err := l.look(ctx); err != nil {
			return batch, err
		}
	}
	var now []*request // refused now, and perhaps accepted before
	for _, r := range batch {
		if err := l.terms.Allow(l.sku, r.order); err != nil {
			r.refuse(err)
		} else if l.service.refusesNow(*l.terms, l.sku, r.order) != nil {
			now = append(now, r)
		} else {
			allowed = append(allowed, r)
		}
	}
	unknown := now
	if begun := !l.service.now().Before(l.terms.SaleStartsAt); begun {
		if unknown, err = l.settleKnown(ctx, now); err != nil {
			return slices.Concat(now, allowed), err
		}
	}
	for _, r := range unknown {
		if err := l.service.refusesNow(*l.terms, l.sku, r.order); err != nil {
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
	if err := cmp.Or(t.Window().Refusal(sku, s.now()), t.Exceeds(sku, o, s.maxReserve)); err != nil {
		return err
	}
	if t.PerBuyerLimit > 0 && o.Quantity > t.PerBuyerLimit {
		return stock.BuyerLimited(sku, t.PerBuyerLimit)
	}
	return nil
}
