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
	closed := l.terms.Window().Refusal(l.sku, l.service.now())
	var greedy []*request
	for _, r := range batch {
		switch err := l.terms.allow(l.sku, r.order); {
		case err == nil:
			allowed = append(allowed, r)
		case CodeOf(err) == CodeBuyerLimit: // unless it is about an order that is there
			greedy = append(greedy, r)
		default:
			r.refuse(err)
		}
	}
	unknown, err := l.settleKnown(ctx, greedy)
	if err != nil {
		return append(allowed, greedy...), err
	}
	refuseAll(unknown, BuyerLimited(l.sku, l.terms.PerBuyerLimit))
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

// Window is when a SKU is sold.
type Window struct {
	StartsAt time.Time // the first instant; zero: from its creation on
	EndsAt   time.Time // the first instant at which it no longer is; zero: never
}

// Window returns when the SKU is sold.
func (t Terms) Window() Window { return Window{StartsAt: t.SaleStartsAt, EndsAt: t.SaleEndsAt} }

// Refusal returns the error of an order for a SKU that is not sold at an instant, nil when it is.
func (w Window) Refusal(sku string, at time.Time) error {
	switch {
	case at.Before(w.StartsAt):
		return &Error{Code: CodeSaleClosed, SKU: sku, Message: fmt.Sprintf("the sale of SKU %q begins at %s", sku, clockTime(w.StartsAt))}
	case !w.EndsAt.IsZero() && !at.Before(w.EndsAt):
		return &Error{Code: CodeSaleClosed, SKU: sku, Message: fmt.Sprintf("the sale of SKU %q ended at %s", sku, clockTime(w.EndsAt))}
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
