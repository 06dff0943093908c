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
	var now []*request // refused now, and perhaps accepted before
	for _, r := range batch {
		if err := l.terms.allow(l.sku, r.order); err != nil {
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
func (s *Service) refusesNow(t Terms, sku string, o Order) error {
	if err := cmp.Or(t.SaleWindow().Refusal(sku, s.now()), s.exceeds(t, sku, o)); err != nil {
		return err
	}
	if t.PerBuyerLimit > 0 && o.Quantity > t.PerBuyerLimit {
		return BuyerLimited(sku, t.PerBuyerLimit)
	}
	return nil
}

// exceeds returns the refusal of an order that asks for more than this service, or its caller, may have of a SKU that does
// not say. Other processes, and this one before, may have other bounds: the very order may have been accepted.
func (s *Service) exceeds(t Terms, sku string, o Order) error {
	switch {
	case t.MaxReserveFor == 0 && o.ReserveFor > s.maxReserve:
		return reservedTooLong(sku, s.maxReserve)
	case t.MaxQuantity == 0 && o.CallerMax > 0 && o.Quantity > o.CallerMax:
		return tooMany(sku, o.CallerMax)
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

// Terms say who may buy how much of a SKU, and when. They never change. The zero Terms allow everything.
type Terms struct {
	SaleStartsAt  time.Time     // the first instant at which it is sold; zero: from its creation on
	SaleEndsAt    time.Time     // the first instant at which it no longer is; zero: never
	PerBuyerLimit int64         // units that one buyer may hold, live reservations included; 0: any number
	MaxQuantity   int64         // units of one order; 0: the package's MaxQuantity
	MaxReserveFor time.Duration // of a reservation; 0: the service's, see [Config]
}

// SaleWindow is when a SKU is sold.
type SaleWindow struct {
	StartsAt time.Time // the first instant; zero: from its creation on
	EndsAt   time.Time // the first instant at which it no longer is; zero: never
}

// SaleWindow returns when the SKU is sold.
func (t Terms) SaleWindow() SaleWindow {
	return SaleWindow{StartsAt: t.SaleStartsAt, EndsAt: t.SaleEndsAt}
}

// Refusal returns the error of an order for a SKU that is not sold at an instant, nil when it is.
func (w SaleWindow) Refusal(sku string, at time.Time) error {
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
		return tooMany(sku, t.MaxQuantity)
	case t.MaxReserveFor > 0 && o.ReserveFor > t.MaxReserveFor:
		return reservedTooLong(sku, t.MaxReserveFor)
	case t.PerBuyerLimit > 0 && o.BuyerID == "":
		return invalid("buyer_id", "must be given: SKU %q has a buyer limit", sku)
	default:
		return nil
	}
}
