package stock

import (
	"fmt"
	"slices"
	"time"
)

// DeductionStatus is the state of a deduction.
type DeductionStatus string

// The states of a deduction:
//
//	             ┌── commit ──> committed ── cancel ──> cancelled
//	reserved ────┼── cancel ──> cancelled
//	             └── time ────> expired
//
// A plain deduction is committed at once. Only what is reserved or committed holds units.
const (
	StatusReserved  DeductionStatus = "reserved"
	StatusCommitted DeductionStatus = "committed"
	StatusCancelled DeductionStatus = "cancelled"
	StatusExpired   DeductionStatus = "expired"
)

// Live reports whether a deduction in this state holds units.
func (s DeductionStatus) Live() bool { return s == StatusReserved || s == StatusCommitted }

// Deduction is stock taken for one order id.
type Deduction struct {
	SKU       string
	Order           // as requested: after a commit or return of a part, its Quantity is more than the deduction's
	Quantity  int64 // units it holds, or held last
	Committed int64 // units that were committed, if some of them were given back since; else 0
	Status    DeductionStatus
	ExpiresAt time.Time // of a reservation, also when it has ended
	Parts     []Part    // what each segment gave, ascending; only [Store.Deduction] fills it
	Merged    bool      // several segments gave, so that each part has a row; only a settlement needs it
}

// Due reports whether it is a reservation that has expired: the next write that finds it ends it.
func (d Deduction) Due(at time.Time) bool {
	return d.Status == StatusReserved && !at.Before(d.ExpiresAt)
}

// reserved returns how many of its units are reserved.
func (d Deduction) reserved() int64 {
	if d.Status == StatusReserved {
		return d.Quantity
	}
	return 0
}

// Part is what one segment gave to a deduction.
type Part struct {
	Segment  int
	Quantity int64
}

// splitParts splits parts into their first units, those to keep, and the rest.
func splitParts(parts []Part, keep int64) (kept, rest []Part) {
	for _, p := range parts {
		first := min(keep, p.Quantity)
		keep -= first
		if first > 0 {
			kept = append(kept, Part{Segment: p.Segment, Quantity: first})
		}
		if p.Quantity > first {
			rest = append(rest, Part{Segment: p.Segment, Quantity: p.Quantity - first})
		}
	}
	return kept, rest
}

// Answers reports whether d is the deduction that o asks for, so that o is a replay.
func (d Deduction) Answers(o Order) bool {
	asked := o.kept()
	asked.OrderID = d.OrderID // d was found by its id, perhaps under another key
	return d.Order == asked
}

// UnknownDeduction is the error for an order id, or its key, of which the SKU has no deduction.
func UnknownDeduction(sku, key string) *Error {
	_, orderID := SplitOrderKey(key)
	return &Error{Code: CodeUnknownDeduction, Message: fmt.Sprintf("SKU %q has no deduction with order id %q", sku, orderID)}
}

// notReserved is the error for a request that the status of a deduction does not allow.
func notReserved(d Deduction, what string) error {
	return &Error{Code: CodeNotReserved, Message: "the deduction is " + string(d.Status) + ": there is nothing to " + what}
}

func sortParts(parts []Part) {
	slices.SortFunc(parts, func(a, b Part) int { return a.Segment - b.Segment })
}
