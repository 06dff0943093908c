package stock

import (
	"slices"
	"time"
	"unicode"
	"unicode/utf8"
)

// DeductionStatus is the state of a deduction.
type DeductionStatus string

// StatusCommitted is the one state that exists so far: a plain deduction is committed at once.
const StatusCommitted DeductionStatus = "committed"

// Order is what a buyer asks for. OrderID makes it idempotent within its SKU.
type Order struct {
	OrderID  string
	BuyerID  string // may be empty
	Quantity int64
}

// Deduction is stock taken for one order id.
type Deduction struct {
	SKU      string
	OrderID  string
	BuyerID  string
	Quantity int64
	Status   DeductionStatus
	Parts    []Part // what each segment gave, ascending; only [Service.Deduction] fills it
}

// Part is what one segment gave to a deduction.
type Part struct {
	Segment  int
	Quantity int64
}

// answers tells whether d is the deduction that o asks for, so that o is a replay.
func (d Deduction) answers(o Order) bool { return d.Quantity == o.Quantity && d.BuyerID == o.BuyerID }

// Restock adds units to a SKU. Ref makes it idempotent within its SKU.
type Restock struct {
	SKU      string
	Ref      string
	Quantity int64
	Reason   string // may be empty
	At       time.Time
}

const (
	maxIDBytes     = 128
	maxReasonBytes = 500
)

func (o Order) check() error {
	if err := checkText("order_id", o.OrderID, maxIDBytes); err != nil {
		return err
	}
	if o.BuyerID != "" {
		if err := checkText("buyer_id", o.BuyerID, maxIDBytes); err != nil {
			return err
		}
	}
	return checkQuantity(o.Quantity)
}

func (r Restock) check() error {
	if err := checkSKU(r.SKU); err != nil {
		return err
	}
	if err := checkText("ref", r.Ref, maxIDBytes); err != nil {
		return err
	}
	if r.Reason != "" {
		if err := checkText("reason", r.Reason, maxReasonBytes); err != nil {
			return err
		}
	}
	return checkQuantity(r.Quantity)
}

func checkQuantity(q int64) error {
	if q < 1 || q > MaxQuantity {
		return invalid("quantity", "must be 1 to %d", MaxQuantity)
	}
	return nil
}

// checkText holds a text to 1..most bytes of UTF-8 without control characters: PostgreSQL refuses NUL, and the
// others would forge lines in logs.
func checkText(field, text string, most int) error {
	if text == "" || len(text) > most || !utf8.ValidString(text) {
		return invalid(field, "must be 1 to %d bytes of UTF-8", most)
	}
	for _, r := range text {
		if unicode.IsControl(r) {
			return invalid(field, "must not contain control characters")
		}
	}
	return nil
}

func sortParts(parts []Part) {
	slices.SortFunc(parts, func(a, b Part) int { return a.Segment - b.Segment })
}
