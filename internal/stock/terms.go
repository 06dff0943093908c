package stock

import (
	"context"
	"fmt"
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
	for _, r := range batch {
		if err := l.terms.allow(l.sku, r.order); err != nil {
			r.refuse(err)
		} else {
			allowed = append(allowed, r)
		}
	}
	if closed == nil {
		return allowed, nil
	}
	late := allowed
	if !l.terms.SaleEndsAt.IsZero() {
		if late, err = l.settleKnown(ctx, allowed); err != nil {
			return allowed, err
		}
	}
	for _, r := range late {
		r.refuse(closed)
	}
	return nil, nil
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
		return invalid("quantity", "must be 1 to %d for SKU %q", t.MaxQuantity, sku)
	case t.PerBuyerLimit > 0 && o.BuyerID == "":
		return invalid("buyer_id", "must be given: SKU %q has a buyer limit", sku)
	case t.PerBuyerLimit > 0 && o.Quantity > t.PerBuyerLimit:
		return BuyerLimited(sku, t.PerBuyerLimit)
	default:
		return nil
	}
}
