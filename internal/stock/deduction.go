package stock

import (
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

// Live tells whether a deduction in this state holds units.
func (s DeductionStatus) Live() bool { return s == StatusReserved || s == StatusCommitted }

// Order is what a buyer asks for. OrderID makes it idempotent within its SKU.
type Order struct {
	OrderID    string
	BuyerID    string // may be empty where the SKU has no buyer limit
	Own        bool   // the order id is one of the buyer's own, and not the shop's
	Quantity   int64
	ReserveFor time.Duration // 0: committed at once; else MinReserve to MaxReserve, in whole microseconds
	// CallerMax is how many units its caller may ask for where the SKU has no MaxQuantity of its own; 0: the package's. It is no
	// part of what was asked: a replay may have another one.
	CallerMax int64
}

// Deduction is stock taken for one order id.
type Deduction struct {
	SKU       string
	Order           // as it was asked for: its Quantity is more than that of the deduction after a partial commit
	Quantity  int64 // units it holds, or held last
	Status    DeductionStatus
	ExpiresAt time.Time // of a reservation, also when it has ended
	Parts     []Part    // what each segment gave, ascending; only [Store.Deduction] fills it
}

// Due tells whether it is a reservation whose time has come: whoever meets it ends it.
func (d Deduction) Due(at time.Time) bool {
	return d.Status == StatusReserved && !at.Before(d.ExpiresAt)
}

// reserved is how many of its units are reserved.
func (d Deduction) reserved() int64 {
	if d.Status == StatusReserved {
		return d.Quantity
	}
	return 0
}

// kept is an order as a deduction keeps it: what its caller may do, and whose id it is, is no part of what was asked.
func (o Order) kept() Order {
	o.Own, o.CallerMax = false, 0
	return o
}

// Part is what one segment gave to a deduction.
type Part struct {
	Segment  int
	Quantity int64
}

// Answers tells whether d is the deduction that o asks for, so that o is a replay.
func (d Deduction) Answers(o Order) bool {
	asked := o.kept()
	asked.OrderID = d.OrderID // by which it was found, perhaps under another key
	return d.Order == asked
}

// How long a reservation lasts, at least and at most.
const (
	MinReserve = time.Second
	MaxReserve = 30 * 24 * time.Hour
)

const maxIDBytes = 128

// Check holds an order to what is allowed.
func (o Order) Check() error {
	if err := checkOrderID(o.OrderID); err != nil {
		return err
	}
	for _, text := range keptTexts {
		value, needed := text.Get(o), o.Own && text.Column == "buyer_id"
		if value == "" && !needed {
			continue
		}
		if err := checkText(text.Column, value, maxIDBytes); err != nil {
			return err
		}
	}
	if err := checkReserve(o.ReserveFor); err != nil {
		return err
	}
	return checkQuantity(o.Quantity)
}

// checkReserve accepts what both stores keep exactly.
func checkReserve(d time.Duration) error {
	if d == 0 || CheckReserve(d) {
		return nil
	}
	return Invalid("reserve_for", "must be %s to %s, in whole microseconds", MinReserve, MaxReserve)
}

// CheckReserve tells whether a reservation can last so long.
func CheckReserve(d time.Duration) bool {
	return d >= MinReserve && d <= MaxReserve && d%time.Microsecond == 0
}

func checkQuantity(q int64) error {
	if q < 1 || q > MaxQuantity {
		return Invalid("quantity", "must be 1 to %d", MaxQuantity)
	}
	return nil
}

func sortParts(parts []Part) {
	slices.SortFunc(parts, func(a, b Part) int { return a.Segment - b.Segment })
}

// KeptText is a text that stores keep of an order as it is: in a column that is null where the text is empty, and that has
// the name of the request's field.
type KeptText struct {
	Column string
	Get    func(Order) string
	Of     func(*Order) *string
}

var keptTexts = []KeptText{
	{"buyer_id", func(o Order) string { return o.BuyerID }, func(o *Order) *string { return &o.BuyerID }},
}

// KeptTexts returns all of them. Nobody changes them.
func KeptTexts() []KeptText { return keptTexts }
