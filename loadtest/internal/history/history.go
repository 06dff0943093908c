// Package history is what callers of the service saw, and a checker that holds it against the rows.
//
// A caller does one [Operation] at a time. An operation is a question with an id, asked again, at any process, until the
// answer is final: each try is an [Attempt], with when it was sent, until when the service may write for it, and what was
// answered. [Check] takes all operations and the rows that are there in the end, and names each promise that was broken:
//
//	lost            an order was accepted, and has no row
//	different       the row, or a replay, is not what was asked for or answered before
//	not final       an order was refused after all its other attempts were over, and has a row
//	late            a row was written after the deadlines of all attempts
//	from nowhere    a row of which no caller knows
//	false refusal   an order was refused for want of units that were certainly there
//	oversold        the units of a SKU do not add up, or are fewer than none
//	half            an order of several SKUs has some of its lines
//	buyer limit     a buyer holds more than one buyer may
//	undone          what one caller was told of a state, another one has undone
//	too early       a reservation was told expired before its time
//	ledger          a change of stock was accepted and is not in the ledger, or is there twice
//	stranded        units are left that one order of them all cannot buy
//	twice           an order has two rows
//	fence           a row was written under an older token than the one before
//	audit           the service's own audit finds something else
package history

import (
	"fmt"
	"time"
)

// Kind is what an operation asks for.
type Kind int

// The kinds.
const (
	Deduct  Kind = iota // units of one SKU, or their reservation
	Order               // units of several SKUs, all or none
	Commit              // of a reservation
	Cancel              // of what was taken
	Restock             // of a SKU
	Read                // of a deduction
)

// String is the kind in a sentence.
func (k Kind) String() string {
	return [...]string{"deduct", "order", "commit", "cancel", "restock", "read"}[k]
}

// Operation is one question of a caller.
type Operation struct {
	Kind       Kind
	ID         string // of the order, or the reference of a restock
	Buyer      string
	Lines      []Line // one for each SKU; without a quantity for what asks for none
	ReserveFor time.Duration
	Attempts   []Attempt
}

// Line is what is asked of a SKU.
type Line struct {
	SKU      string
	Quantity int64
}

// Attempt is one try.
type Attempt struct {
	Process  int
	Sent     time.Time
	Deadline time.Time // that the caller has sent along; zero: none
	Ended    time.Time // when the answer was there, or the caller hung up
	Answer   Answer
}

// Answer is what the service said. The zero Answer is none.
type Answer struct {
	Status   int
	Code     string    // of a refusal
	State    string    // of the deduction
	Quantity int64     // of the deduction
	Expires  time.Time // of a reservation
}

// Accepted tells whether the answer is that it has happened.
func (a Answer) Accepted() bool { return a.Status/100 == 2 }

// Refused tells whether the answer is that it has not happened.
func (a Answer) Refused() bool { return a.Status/100 == 4 && a.Status != statusClientGone }

// Unknown tells whether it may have happened.
func (a Answer) Unknown() bool { return !a.Accepted() && !a.Refused() && a.Code != "overloaded" }

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
		if !a.Deadline.IsZero() {
			text += fmt.Sprintf(", deadline after %s", a.Deadline.Sub(a.Sent).Round(time.Millisecond))
		}
	}
	return text
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// Rows are what the database holds in the end.
type Rows struct {
	Deductions []Deduction
	Movements  []Movement
	SKUs       []SKU
}

// Deduction is a row of what was taken.
type Deduction struct {
	SKU, ID, Buyer string
	Asked          int64 // units; Quantity may be fewer after a partial commit
	Quantity       int64
	State          string
	Created        time.Time
	Expires        time.Time // of a reservation; zero: it was none
}

// Movement is a row of the ledger.
type Movement struct {
	SKU, Ref string
	Quantity int64
}

// SKU is the stock of one.
type SKU struct {
	Name       string
	Initial    int64
	Available  int64
	Difference int64 // of what there should be and is, as the audit tells it
	BuyerLimit int64 // 0: none
	Sold       int64 // units of one last order of all that was left, which a caller tried in the end
	FencesFell int64 // how often a row of its stock was written under an older token than the one before
	Audit      []string
}

// Promise is what the service promises in time.
type Promise struct {
	AnswerWithin time.Duration // nothing is written later than this after a request was read
	Staleness    time.Duration // for so long a process may refuse for want of units that have come meanwhile
}

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
