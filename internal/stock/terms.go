package stock

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// refuseByTerms answers what the SKU's terms do not allow, and returns the others. A winner who asks again after the end of
// the sale hears of its order still; before the beginning there is none.
func (l *lane) refuseByTerms(ctx context.Context, batch []*request) (allowed []*request, err error) {
	if l.terms == nil {
		if err := l.look(ctx); err != nil {
			return batch, err
		}
	}
	closed := l.terms.closed(l.sku, l.service.now())
	var now []*request // refused now, and perhaps accepted before
	for _, r := range batch {
		if err := l.terms.allow(l.sku, r.order); err != nil {
			r.refuse(err)
		} else if closed != nil || l.service.exceeds(*l.terms, l.sku, r.order) != nil {
			now = append(now, r)
		} else {
			allowed = append(allowed, r)
		}
	}
	unknown := now
	if closed == nil || !l.terms.SaleEndsAt.IsZero() {
		if unknown, err = l.settleKnown(ctx, now); err != nil {
			return slices.Concat(now, allowed), err
		}
	}
	for _, r := range unknown {
		r.refuse(cmp.Or(closed, l.service.exceeds(*l.terms, l.sku, r.order)))
	}
	return allowed, nil
}

// exceeds returns the refusal of an order that asks for more than this service, or its caller, may have of a SKU that does
// not say. Other processes, and this one before, may have other bounds: the very order may have been accepted.
func (s *Service) exceeds(t Terms, sku string, o Order) error {
	switch {
	case t.MaxReserveFor == 0 && o.ReserveFor > s.maxReserve:
		return reservedTooLong(sku, s.maxReserve)
	case t.MaxQuantity == 0 && o.Most > 0 && o.Quantity > o.Most:
		return tooMany(sku, o.Most)
	default:
		return nil
	}
}

func reservedTooLong(sku string, most time.Duration) error {
	return invalid("reserve_for", "must be %s to %s for SKU %q", MinReserve, most, sku)
}

func tooMany(sku string, most int64) error {
	return invalid("quantity", "must be 1 to %d for SKU %q", most, sku)
}

// closed returns the refusal of whoever asks when the SKU is not sold, nil when it is.
func (t Terms) closed(sku string, now time.Time) error {
	switch {
	case now.Before(t.SaleStartsAt):
		return &Error{Code: CodeSaleClosed, SKU: sku, Message: fmt.Sprintf("the sale of SKU %q begins at %s", sku, clockTime(t.SaleStartsAt))}
	case !t.SaleEndsAt.IsZero() && !now.Before(t.SaleEndsAt):
		return &Error{Code: CodeSaleClosed, SKU: sku, Message: fmt.Sprintf("the sale of SKU %q ended at %s", sku, clockTime(t.SaleEndsAt))}
	default:
		return nil
	}
}

func clockTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// allow refuses an order that can never have been accepted.
func (t Terms) allow(sku string, o Order) error {
	switch {
	case t.MaxQuantity > 0 && o.Quantity > t.MaxQuantity:
		return tooMany(sku, t.MaxQuantity)
	case t.MaxReserveFor > 0 && o.ReserveFor > t.MaxReserveFor:
		return reservedTooLong(sku, t.MaxReserveFor)
	case t.PerBuyerLimit > 0 && o.BuyerID == "":
		return invalid("buyer_id", "must be given: SKU %q has a buyer limit", sku)
	case t.PerBuyerLimit > 0 && o.Quantity > t.PerBuyerLimit:
		return BuyerLimited(sku, t.PerBuyerLimit)
	default:
		return nil
	}
}
