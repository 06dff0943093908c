// Package history records the answers that callers got, and compares them with the rows.
//
// A caller does one [Operation] at a time, and repeats it, at any process, until the answer is final: each try is an [Attempt].
// [ReadRows] reads the rows that are there in the end. [Check] takes both, and names each promise that was broken.
// docs/LAB.md has all names, and what a false refusal is.
package history

import (
	"fmt"
	"slices"
	"time"

	"inventory/internal/api/client"
)

// Kind is what an operation asks for.
type Kind int

// The kinds.
const (
	Deduct    Kind = iota // units of one SKU, or their reservation
	Order                 // units of several SKUs, all or none
	Commit                // of a reservation
	Cancel                // of a reservation, or with a ref of some units of it
	Restock               // of a SKU
	Resegment             // of a SKU: the quantity is how many segments it shall have
	Read                  // of a deduction
	Look                  // at a SKU
	Extend                // a reservation: it then lasts as long as ReserveFor says
	Return                // of what is committed, or with a ref of some units of it
	Change                // an order of several SKUs: it then has these lines, and another buyer if Hands names one
)

// String is the kind in a sentence.
func (k Kind) String() string {
	return [...]string{"deduct", "order", "commit", "cancel", "restock", "resegment", "read", "look", "extend", "return", "change"}[k]
}

// TakesUnits reports whether such an operation takes units for an order.
func (k Kind) TakesUnits() bool { return k == Deduct || k == Order }

// Moves reports whether such an operation is a line of the ledger.
func (k Kind) Moves() bool { return k == Restock || k == Resegment }

// Settles reports whether such an operation changes what was taken.
func (k Kind) Settles() bool {
	return k == Commit || k == Cancel || k == Extend || k == Return || k == Change
}

// Operation is one question of a caller, with all its attempts. An operation of several lines is about an order of several SKUs as
// a whole.
type Operation struct {
	Kind       Kind
	ID         string // of the order, or the ref of a movement
	Ref        string // of an amendment; none: a return is of all that is left
	Retake     bool   // a commit takes the units of a reservation that has expired or was cancelled again
	Only       bool   // a commit is of these lines alone, and releases the others of the order
	Hands      string // the buyer who gets the order by a change
	WriteOff   bool   // the returned units are not sold again
	Buyer      string
	Lines      []Line // one for each SKU
	ReserveFor time.Duration
	Attempts   []Attempt
}

// Whole reports whether it is about an order of several SKUs as a whole.
func (o Operation) Whole() bool { return len(o.Lines) > 1 || o.Kind == Change || o.Only }

// Line is what an operation wants of a SKU.
type Line struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
}

// Attempt is one try of an operation, at one process.
type Attempt struct {
	Process  int
	Sent     time.Time
	Deadline time.Time // that was sent along; zero: none
	Ended    time.Time // when the answer was there, or the caller hung up
	NotSent  bool      // there was no connection
	Err      error     // why there is no answer
	Answer   Answer
}

// Unknown reports whether the attempt has no answer, and may have happened.
func (a Attempt) Unknown() bool { return !a.NotSent && a.Answer.Unknown() }

// Answer is the service's answer. The zero Answer is none.
type Answer struct {
	Status   int
	Code     client.Code // of a refusal
	State    string      // of the deduction, also with a refusal
	Quantity int64       // of the deduction, or of all lines of an order
	Expires  time.Time   // of a reservation
	States   States      // of the lines of an order; a refusal has those of the lines that it is about
	Left     int64       // units of a SKU
}

// States are those of deductions, by SKU.
type States map[string]string

// of is the state of the deduction that an answer tells.
func (a Answer) of(sku string) string {
	if a.States != nil {
		return a.States[sku]
	}
	return a.State
}

// Accepted reports whether the answer is that it happened.
func (a Answer) Accepted() bool { return a.Status/100 == 2 }

// Refused reports whether the answer is that it did not happen.
func (a Answer) Refused() bool { return a.Status/100 == 4 && a.Status != statusClientGone }

// Short reports whether it was refused for want of units.
func (a Answer) Short() bool { return a.Code == client.SoldOut || a.Code == client.InsufficientStock }

// Unknown reports whether it may have happened, if it was sent.
func (a Answer) Unknown() bool { return !a.Accepted() && !a.Refused() && a.Code != client.Overloaded }

// statusClientGone is logged for a caller that has hung up.
const statusClientGone = 499

// String is the operation with all its attempts.
func (o Operation) String() string {
	text := fmt.Sprintf("%s %q of %v, for %s, with ref %q, to retake: %t, these alone: %t, to write off: %t", o.Kind, o.ID, o.Lines, o.ReserveFor, o.Ref, o.Retake, o.Only, o.WriteOff)
	for _, a := range o.Attempts {
		text += fmt.Sprintf("\n      process %d, sent %s, ended after %s: %d %s %s", a.Process, clock(a.Sent),
			a.Ended.Sub(a.Sent).Round(time.Millisecond), a.Answer.Status, a.Answer.Code, a.Answer.State)
		if a.Answer.States != nil {
			text += fmt.Sprint(a.Answer.States)
		}
		if a.Err != nil {
			text += a.Err.Error()
		}
		if !a.Deadline.IsZero() {
			text += fmt.Sprintf(", deadline after %s", a.Deadline.Sub(a.Sent).Round(time.Millisecond))
		}
	}
	return text
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// Last is the last attempt of an operation that was tried.
func (o Operation) Last() Attempt { return o.Attempts[len(o.Attempts)-1] }

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

// accepted is when the first answer came that it happened.
func (o Operation) accepted() (at time.Time, ok bool) {
	for _, a := range o.Attempts {
		if a.Answer.Accepted() && (!ok || a.Ended.Before(at)) {
			at, ok = a.Ended, true
		}
	}
	return at, ok
}

// possible reports whether it may have happened. A change may have happened before its order ended, which is what its caller is told then.
func (o Operation) possible() bool {
	return slices.ContainsFunc(o.Attempts, func(a Attempt) bool {
		return a.Answer.Accepted() || a.Unknown() || o.Kind == Change && a.Answer.Code == client.OrderEnded
	})
}

// Promise is what was promised to callers.
type Promise struct {
	Stocks       map[string]Stock // of the SKUs, as they were put up for sale
	AnswerWithin time.Duration    // nothing is written later than this after a request was read
	Staleness    time.Duration    // how long a process may refuse for want of units that have come meanwhile
	Sweep        time.Duration    // how long after its end a reservation may still be there
	Clocks       time.Duration    // by how much the clocks of callers and of the service may differ
}

// Stock is what a SKU was put up for sale with.
type Stock struct {
	Units, BuyerLimit int64  // no limit: 0
	Group             string // of SKUs over which the limit counts; "": the SKU alone
}

// Promised is a promise that a check tries, with the names of its violations. The first name counts how often it was tried.
type Promised struct {
	Names []string
	Says  string
}

// Promises are all of them, as docs/LAB.md tells them.
func Promises() []Promised {
	return []Promised{
		{[]string{"lost", "different", "twice", "from nowhere", "ledger", "amendment"}, "An accepted operation has its row, once and whole, and no other has one."},
		{[]string{"half"}, "An order of several SKUs is written, settled and told as a whole."},
		{[]string{"replay"}, "A retry gets the first answer, and does nothing twice."},
		{[]string{"no reason", "not final"}, "A refusal has a reason, and stays one."},
		{[]string{"false refusal", "stranded"}, "“Sold out” was true, and no unit is stranded."},
		{[]string{"oversold", "missing", "no such SKU"}, "The units of a SKU add up."},
		{[]string{"buyer limit"}, "No buyer holds more than one buyer may."},
		{[]string{"ended"}, "An order sent again is accepted if it holds units, and only then."},
		{[]string{"undone", "no cause"}, "An answer is never contradicted later, and has its cause."},
		{[]string{"too early", "too late"}, "A reservation lasts until its time, and no longer."},
		{[]string{"late"}, "Nothing is written after its deadline."},
		{[]string{"fence"}, "No row is written under an older token."},
		{[]string{"audit"}, "The service's own audit finds nothing."},
	}
}

// Violation is a promise that was broken.
type Violation struct {
	Name      string
	What      string
	Operation *Operation // that shows it; nil: rows do
}

// String is the violation with its operation.
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
	Tried      map[string]int      // how often each promise was tried, by its first name
}

// Refusals are what was found of refusals for want of units.
type Refusals struct {
	False    Bounds // how many were false
	Stranded int64  // units that are left, although an order for them was refused
}

// Bounds are the least and the most of what cannot be counted exactly.
type Bounds struct {
	Least int `json:"least"`
	Most  int `json:"most"`
}

// mostTold is how many violations of a name are reported in full.
const mostTold = 3

// Describe lists violations, the first few of each name. Those of one name stand together.
func Describe(all []Violation) (lines []string) {
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
