package stock

import (
	"cmp"
	"fmt"
	"time"
)

// Terms say who may buy how much of a SKU, and when. A change of terms raises the layout, so the rows refuse a write that
// knows older terms. The zero Terms allow everything.
type Terms struct {
	SaleStartsAt  time.Time     // the first instant at which it is sold; zero: from its creation on
	SaleEndsAt    time.Time     // the first instant at which it no longer is; zero: never
	PerBuyerLimit int64         // units that one buyer may hold, live reservations included; 0: any number
	MaxQuantity   int64         // units of one order; 0: the package's MaxQuantity
	MaxReserveFor time.Duration // of a reservation; 0: the service's
	ArchivedAt    time.Time     // since when it sells nothing for good; zero: it is not archived
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

func (t Terms) check() error {
	if t.PerBuyerLimit < 0 || t.PerBuyerLimit > MaxStock {
		return Invalid("per_buyer_limit", "must be 1 to %d", MaxStock)
	}
	if t.MaxQuantity < 0 || t.MaxQuantity > MaxQuantity {
		return Invalid("max_quantity", "must be 1 to %d", MaxQuantity)
	}
	if t.MaxReserveFor != 0 && !CheckReserve(t.MaxReserveFor) {
		return Invalid("max_reserve_for", "must be %s to %s, in whole microseconds", MinReserve, MaxReserve)
	}
	if err := cmp.Or(checkYear("sale_starts_at", t.SaleStartsAt), checkYear("sale_ends_at", t.SaleEndsAt)); err != nil {
		return err
	}
	if !t.SaleEndsAt.IsZero() && !t.SaleStartsAt.Before(t.SaleEndsAt) {
		return Invalid("sale_ends_at", "must be later than sale_starts_at")
	}
	return nil
}

// Allow refuses an order that the terms never allow. It may have been accepted on earlier terms.
func (t Terms) Allow(sku string, o Order) error {
	switch {
	case !t.ArchivedAt.IsZero():
		return SKUArchived(sku)
	case t.MaxQuantity > 0 && o.Quantity > t.MaxQuantity:
		return tooMany(sku, t.MaxQuantity)
	case t.MaxReserveFor > 0 && o.ReserveFor > t.MaxReserveFor:
		return reservedTooLong(sku, t.MaxReserveFor)
	case t.PerBuyerLimit > 0 && o.BuyerID == "":
		return Invalid("buyer_id", "must be given: SKU %q has a buyer limit", sku)
	default:
		return nil
	}
}

// Exceeds returns the refusal of an order that asks for more than its caller may have, or for a longer reservation than
// the service allows, if the SKU does not say. Another process may have other bounds, and may have accepted this order.
func (t Terms) Exceeds(sku string, o Order, maxReserve time.Duration) error {
	switch {
	case t.MaxReserveFor == 0 && o.ReserveFor > maxReserve:
		return reservedTooLong(sku, maxReserve)
	case t.MaxQuantity == 0 && o.CallerMax > 0 && o.Quantity > o.CallerMax:
		return tooMany(sku, o.CallerMax)
	default:
		return nil
	}
}

func reservedTooLong(sku string, most time.Duration) error {
	return Invalid("reserve_for", "must be %s to %s for SKU %q", MinReserve, most, sku)
}

func tooMany(sku string, most int64) error {
	return Invalid("quantity", "must be 1 to %d for SKU %q", most, sku)
}

// Both stores keep these years to the microsecond.
const firstYear, lastYear = 1970, 2999

func checkYear(field string, at time.Time) error {
	if !at.IsZero() && (at.Year() < firstYear || at.Year() > lastYear) {
		return Invalid(field, "must be in the years %d to %d", firstYear, lastYear)
	}
	return nil
}
