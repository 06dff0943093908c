// Package history is what callers of the service saw, and a checker that holds it against the rows.
//
// A caller does one [Operation] at a time. An operation is a question with an id, asked again, at any process, until the
// answer is final: each try is an [Attempt], with when it was sent, until when the service may write for it, and what was
// answered. [ReadRows] reads the rows that are there in the end. [Check] takes both, and names each promise that was broken:
//
//	lost            an order was accepted, and has no row
//	different       the row, or a replay, is not what was asked for or answered before
//	replay          an order was accepted twice, or told to have been accepted before and was not
//	not final       an order was refused after all its other attempts were over, and has a row
//	no reason       a request was refused as no such request may be
//	late            a row was written after the deadlines of all attempts
//	from nowhere    a row of which no caller knows
//	false refusal   an order was refused for want of units that were certainly there
//	stranded        units are left in the end that an order was refused
//	oversold        there are more units than there can be, or fewer than none are left
//	missing         units are gone
//	no such SKU     the database does not know a SKU, or not with this stock
//	half            an order of several SKUs has some of its lines
//	buyer limit     a buyer holds more than one buyer may
//	undone          what one caller was told of a state, another one has undone
//	too early       a reservation was told expired before its time, or ends before the end of an extension
//	too late        a reservation lasted beyond its time
//	amendment       an extension or a return was accepted and is not there, or is there otherwise; or a deduction keeps another
//	                number of units than was asked less what was returned
//	ledger          a change of stock was accepted and is not in the ledger, or is there otherwise or twice
//	twice           an order has two rows
//	fence           a row was written under an older token than the one before
//	audit           the service's own audit finds something else
//
// # What a false refusal is
//
// A refusal is false if what it says was never so, from a while before the question (the promised staleness) until the
// answer: "sold out" says that not one unit is left, "insufficient stock" that fewer are left than were asked for. An order
// takes its units at some instant between its sending and its answer. So all that had certainly come by then, less all that
// may have been taken, is the least that was left: a refusal of no more than that is false for certain. All that may have
// come, less what had certainly been taken, is the most: a refusal of no more than that may be false, and nobody outside
// can tell.
package history

import (
	"fmt"
	"slices"
	"time"
)

// Kind is what an operation asks for.
type Kind int

// The kinds.
const (
	Deduct    Kind = iota // units of one SKU, or their reservation
	Order                 // units of several SKUs, all or none
	Commit                // of a reservation
	Cancel                // of what was taken
	Restock               // of a SKU
	Adjust                // of a SKU, up or down
	Resegment             // of a SKU: the quantity is how many segments it shall have
	Read                  // of a deduction
	Look                  // at a SKU
	Extend                // a reservation: from then on it lasts as long as ReserveFor says
	Return                // units of a deduction, which keeps some
)

// String is the kind in a sentence.
func (k Kind) String() string {
	return [...]string{"deduct", "order", "commit", "cancel", "restock", "adjust", "resegment", "read", "look", "extend", "return"}[k]
}

// Takes tells whether such an operation takes units for an order.
func (k Kind) Takes() bool { return k == Deduct || k == Order }

// Moves tells whether such an operation is a line of the ledger.
func (k Kind) Moves() bool { return k == Restock || k == Adjust || k == Resegment }

// Amends tells whether such an operation changes a deduction once for its ref.
func (k Kind) Amends() bool { return k == Extend || k == Return }

// Operation is one question of a caller.
type Operation struct {
	Kind       Kind
	ID         string // of the order, or the reference of a change of stock
	Ref        string // of an amendment
	Buyer      string
	Lines      []Line // one for each SKU; without a quantity for what asks for none
	ReserveFor time.Duration
	Attempts   []Attempt
}

// Line is what is asked of a SKU.
type Line struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
}

// Attempt is one try.
type Attempt struct {
	Process  int
	Sent     time.Time
	Deadline time.Time // that the caller has sent along; zero: none
	Ended    time.Time // when the answer was there, or the caller hung up
	NotSent  bool      // there was no connection: the service has heard nothing
	Answer   Answer
}

// Unknown tells whether the attempt may have done what was asked for, and nobody was told.
func (a Attempt) Unknown() bool { return !a.NotSent && a.Answer.Unknown() }

// Answer is what the service said. The zero Answer is none.
type Answer struct {
	Status   int
	Code     string    // of a refusal
	State    string    // of the deduction
	Quantity int64     // of the deduction, or of all lines of an order
	Expires  time.Time // of a reservation
}

// Accepted tells whether the answer is that it has happened.
func (a Answer) Accepted() bool { return a.Status/100 == 2 }

// Refused tells whether the answer is that it has not happened.
func (a Answer) Refused() bool { return a.Status/100 == 4 && a.Status != statusClientGone }

// Short tells whether it was refused for want of units.
func (a Answer) Short() bool { return a.Code == SoldOut || a.Code == InsufficientStock }

// Unknown tells whether it may have happened, if it was asked.
func (a Answer) Unknown() bool { return !a.Accepted() && !a.Refused() && a.Code != Overloaded }

// The codes of refusals that mean something here.
const (
	SoldOut           = "sold_out"
	InsufficientStock = "insufficient_stock"
	BuyerLimit        = "buyer_limit"
	SaleClosed        = "sale_closed"
	Overloaded        = "overloaded"
	unknownDeduction  = "unknown_deduction"
	notReserved       = "not_reserved"
)

// statusClientGone is what nobody is told: the caller has hung up.
const statusClientGone = 499

// String is the operation with all its attempts, for whoever looks into a complaint.
func (o Operation) String() string {
	text := fmt.Sprintf("%s %q of %v", o.Kind, o.ID, o.Lines)
	if o.ReserveFor > 0 {
		text += fmt.Sprintf(" for %s", o.ReserveFor)
	}
	for _, a := range o.Attempts {
		text += fmt.Sprintf("\n      process %d, sent %s, ended after %s: %d %s %s", a.Process, clock(a.Sent),
			a.Ended.Sub(a.Sent).Round(time.Millisecond), a.Answer.Status, a.Answer.Code, a.Answer.State)
		if a.NotSent {
			text += "not sent"
		}
		if !a.Deadline.IsZero() {
			text += fmt.Sprintf(", deadline after %s", a.Deadline.Sub(a.Sent).Round(time.Millisecond))
		}
	}
	return text
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// units is how many it asks for.
func (o Operation) units() (units int64) {
	for _, line := range o.Lines {
		units += line.Quantity
	}
	return units
}

// first is when the first attempt was sent.
func (o Operation) first() time.Time {
	return slices.MinFunc(o.Attempts, func(a, b Attempt) int { return a.Sent.Compare(b.Sent) }).Sent
}

// heard is when the first answer came that it has happened.
func (o Operation) heard() (at time.Time, ok bool) {
	for _, a := range o.Attempts {
		if a.Answer.Accepted() && (!ok || a.Ended.Before(at)) {
			at, ok = a.Ended, true
		}
	}
	return at, ok
}

// may tells whether an attempt may have done what was asked.
func (o Operation) may() bool {
	return slices.ContainsFunc(o.Attempts, func(a Attempt) bool { return a.Answer.Accepted() || a.Unknown() })
}

// Promise is what was promised to callers.
type Promise struct {
	Stocks       map[string]Stock // of the SKUs, as they were put up for sale
	AnswerWithin time.Duration    // nothing is written later than this after a request was read
	Staleness    time.Duration    // for so long a process may refuse for want of units that have come meanwhile
	Sweep        time.Duration    // so long after its time a reservation that nobody meets may still be there
	Clocks       time.Duration    // by how much the clocks of callers and of the service may differ
}

// Stock is what a SKU was put up for sale with.
type Stock struct{ Units, BuyerLimit int64 } // no limit: 0

// Violation is a promise that was broken.
type Violation struct {
	Name      string
	What      string
	Operation *Operation // that shows it; nil: rows do
}

// String is the complaint.
func (v Violation) String() string {
	text := v.Name + ": " + v.What
	if v.Operation != nil {
		text += "\n    " + v.Operation.String()
	}
	return text
}

// Findings are what a check finds.
type Findings struct {
	Violations []Violation
	Refusals   map[string]Refusals // for want of units, by SKU
}

// Refusals are what came of those who were refused for want of units.
type Refusals struct {
	False    Bounds // how many refusals were
	Stranded int64  // units that are left, and were refused
}

// Bounds are the least and the most of what cannot be counted exactly.
type Bounds struct {
	Least int `json:"least"`
	Most  int `json:"most"`
}

// mostTold is how many violations of a name are told in full.
const mostTold = 3

// Tell tells violations, the first few of each name, which stand together.
func Tell(all []Violation) (lines []string) {
	for from := 0; from < len(all); {
		to := from
		for to < len(all) && all[to].Name == all[from].Name {
			if to-from < mostTold {
				lines = append(lines, all[to].String())
			}
			to++
		}
		if more := to - from - mostTold; more > 0 {
			lines = append(lines, fmt.Sprintf("%s: and %d more", all[from].Name, more))
		}
		from = to
	}
	return lines
}
