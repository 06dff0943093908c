package stock

import "time"

// OutcomeKind says what became of an order.
type OutcomeKind uint8

// The kinds of outcomes.
const (
	Accepted OutcomeKind = iota + 1 // stock was taken now
	Known                           // the order id was there before; Deduction is what it has
	Short                           // not enough stock; Available says how much was left when its turn came
	Limited                         // its buyer would hold more than the limit
	Closed                          // the SKU is not sold at that instant
)

// Outcome is what became of one order of a batch.
type Outcome struct {
	Kind      OutcomeKind
	Deduction Deduction // for Accepted and Known
	Available int64     // for Short
}

// AcceptedOutcome is the outcome of an order that was taken from sku at an instant.
func AcceptedOutcome(sku string, o Order, at time.Time) Outcome {
	d := Deduction{SKU: sku, Order: o.kept(), Quantity: o.Quantity, Status: StatusCommitted}
	if o.ReserveFor > 0 {
		d.Status, d.ExpiresAt = StatusReserved, at.Add(o.ReserveFor)
	}
	return Outcome{Kind: Accepted, Deduction: d}
}
