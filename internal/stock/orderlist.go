package stock

import (
	"cmp"
	"time"
)

// OrderQuery asks for a page of the lines of all orders, oldest first: an order of one SKU has one line.
type OrderQuery struct {
	BuyerID      string          // only this buyer's; "": any buyer's
	Status       DeductionStatus // only in this state; "": in any
	Since, Until time.Time       // created at or after Since, and before Until; zero: no bound
	// Namespace, with a buyer, leaves out what has an order id of another namespace; nil: nothing.
	Namespace *string
	After     LinePosition // after which the page begins; zero: before all
	Limit     int          // lines in the page, at most
	Scan      int          // rows that are read to find them, at most
}

// LinePosition is a position among the lines of all orders: that of the line with that time, SKU and order key.
type LinePosition struct {
	At           time.Time
	SKU, OrderID string
}

// Compare returns which of two positions comes first.
func (p LinePosition) Compare(q LinePosition) int {
	return cmp.Or(p.At.Compare(q.At), cmp.Compare(p.SKU, q.SKU), cmp.Compare(p.OrderID, q.OrderID))
}

// LineOf returns the position of a line.
func LineOf(d Deduction) LinePosition { return LinePosition{d.CreatedAt, d.SKU, d.OrderID} }

// LinePage is a page of lines, with their times and without their parts. The next page begins after Next; the zero position: this is the end for now. If few rows
// match, a page may hold few or none and have a Next anyway.
type LinePage struct {
	Lines []Deduction
	Next  LinePosition
}

// Check refuses a query for values that cannot exist.
func (q OrderQuery) Check() error {
	if err := (DeductionQuery{SKU: "any", BuyerID: q.BuyerID, Status: q.Status}).Check(); err != nil {
		return err
	}
	if at := q.After; at != (LinePosition{}) && (CheckSKU(at.SKU) != nil || !CheckKey(at.OrderID) || at.At.Year() < 1970 || at.At.Year() > 9999) {
		return Invalid("after", "must be the next of an earlier answer")
	}
	if !q.Until.IsZero() && q.Until.Before(q.Since) {
		return Invalid("until", "must not be before since")
	}
	return nil
}

// Between returns the position after which a page begins, and one behind all that it may have. No SKU is "".
func (q OrderQuery) Between() (after, until LinePosition) {
	after, until = q.After, LinePosition{At: q.Until}
	if q.Since.After(after.At) {
		after = LinePosition{At: q.Since}
	}
	if until.At.IsZero() {
		until.At = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	}
	return after, until
}

// Keys returns what the order keys of the page begin with, and what they do not; "": anything.
func (q OrderQuery) Keys() (only, without string) {
	switch {
	case q.Namespace == nil:
		return "", ""
	case *q.Namespace == "":
		return "", OrderKey(q.BuyerID, "")
	default:
		return OrderKey(*q.Namespace, ""), ""
	}
}

// OrdersNotListed is the error for a list of orders in a database without the indexes for it.
func OrdersNotListed() *Error {
	return refusal(CodeOrdersNotListed, "", "the database has no indexes for it: inventory orders on builds them")
}
