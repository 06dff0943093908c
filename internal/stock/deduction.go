package stock

import (
	"cmp"
	"slices"
	"time"
)

// DeductionStatus is the state of a deduction.
type DeductionStatus string

// The states of a deduction:
//
//	             ┌── commit ──> committed ── return ──> returned
//	reserved ────┼── cancel ──> cancelled ── retake ──> committed
//	             └── time ────> expired ──── retake ──> committed
//
// A plain deduction is committed at once. Only what is reserved or committed holds units.
const (
	StatusReserved  DeductionStatus = "reserved"
	StatusCommitted DeductionStatus = "committed"
	StatusCancelled DeductionStatus = "cancelled"
	StatusExpired   DeductionStatus = "expired"
	StatusReturned  DeductionStatus = "returned"
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
	// CreatedAt is when it was taken, and CommittedAt when it was committed; zero: it was not, or by an older version, or by a change
	// after its reservation had ended.
	CreatedAt, CommittedAt time.Time
	// WrittenOff is how many of its units a settlement writes off; only its plan has it.
	WrittenOff int64
	InOrder    bool // it is a line of an order of several SKUs; only a settlement and [Store.Deduction] fill it
	// CountedAt names the count of buyers that has its units while it holds them; "": none has. Only writes know it.
	CountedAt string
	Revision  int  // after which change of its order it is so; only a settlement fills it
	Removed   bool // it is a line of its order no more; only a settlement fills it
}

// Due reports whether it is a reservation that has expired: the next write that finds it ends it.
func (d Deduction) Due(at time.Time) bool {
	return d.Status == StatusReserved && !at.Before(d.ExpiresAt)
}

// Part is what one segment gave to a deduction.
type Part struct {
	Segment  int   `json:"segment"`
	Quantity int64 `json:"quantity"`
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
	return refusal(CodeUnknownDeduction, "", "SKU %q has no deduction with order id %q", sku, orderID)
}

// partOfOrder is the error for a request that may change a line of an order of several SKUs only together with the others.
func partOfOrder(d Deduction) error {
	err := ofDeduction(d, CodePartOfOrder, "the deduction is a line of an order of several SKUs, which is settled as a whole")
	_, err.OrderID = SplitOrderKey(d.OrderID)
	return err
}

// OrderEnded is the error for an order sent again whose deduction holds nothing any more.
func OrderEnded(d Deduction) *Error {
	return ofDeduction(d, CodeOrderEnded, "the order is %s, and holds nothing: order again under a new order id", d.Status)
}

// AlreadyCommitted is the error for a commit or a cancel of a deduction that was committed before. Its units may have been returned since.
func AlreadyCommitted(d Deduction) *Error {
	d.Quantity = cmp.Or(d.Committed, d.Quantity)
	since := "return gives committed units back"
	if d.Status == StatusReturned {
		since = "its units were returned since"
	}
	return ofDeduction(d, CodeAlreadyCommitted, "the deduction was committed, with a quantity of %d; %s", d.Quantity, since)
}

// ofDeduction is an error that tells what has become of a deduction.
func ofDeduction(d Deduction, code Code, format string, args ...any) *Error {
	err := refusal(code, d.SKU, format, args...)
	err.Status, err.Quantity = d.Status, d.Quantity
	return err
}

// DeductionQuery asks for a page of the deductions of a SKU, in the order of their order keys' bytes.
type DeductionQuery struct {
	SKU     string
	BuyerID string          // only this buyer's; "": any buyer's
	Status  DeductionStatus // only in this state; "": in any
	// Namespace, with a buyer, leaves out what has an order id of another namespace; nil: nothing.
	Namespace *string
	After     string // the order key after which the page begins; "": before all
	Limit     int    // deductions in the page, at most
	// Scan is how many rows are read to find them, at most. The cost of a page grows with it alone, however many
	// deductions there are and however few of them match.
	Scan int
}

// Check refuses a query for values that cannot exist.
func (q DeductionQuery) Check() error {
	if err := CheckSKU(q.SKU); err != nil {
		return err
	}
	if q.BuyerID != "" {
		if err := CheckKnownID("buyer_id", q.BuyerID); err != nil {
			return err
		}
	}
	switch q.Status {
	case "", StatusReserved, StatusCommitted, StatusCancelled, StatusExpired, StatusReturned:
	default:
		return Invalid("status", "must be reserved, committed, cancelled, expired or returned")
	}
	if q.After != "" && !CheckKey(q.After) {
		return Invalid("after", "must be the next of an earlier answer")
	}
	return nil
}

// Bound returns how many rows are read at most: as many as the page holds, if every row matches. All of a buyer's own namespace do.
func (q DeductionQuery) Bound() int {
	anyBuyer := q.BuyerID == "" || q.Namespace != nil && *q.Namespace == q.BuyerID
	if anyBuyer && q.Status == "" {
		return q.Limit
	}
	return max(q.Limit, q.Scan)
}

// DeductionPage is a page of the deductions of a SKU, without their parts. The next page begins after the key Next; "": this
// is the end for now. If few rows match, a page may hold few or none and have a Next anyway.
type DeductionPage struct {
	Deductions []Deduction
	Next       string
}

// Between returns the key after which a page begins, and the last one that it may have.
func (q DeductionQuery) Between() (after, until string) {
	if q.Namespace == nil || *q.Namespace == "" {
		return q.After, BeyondKeys()
	}
	return max(q.After, OrderKey(*q.Namespace, "")), OrderKey(*q.Namespace, lastID())
}

// Others returns the beginning of the buyer's keys that are left out; "": none are.
func (q DeductionQuery) Others() string {
	if q.Namespace == nil || *q.Namespace != "" {
		return ""
	}
	return OrderKey(q.BuyerID, "")
}

// Page returns a page of what was found. last is the last key that was read; "" if all were read. Next is no order id of a namespace
// that is left out.
func (q DeductionQuery) Page(found []Deduction, last string) DeductionPage {
	if len(found) == q.Limit {
		last = found[len(found)-1].OrderID
	}
	if namespace, _ := SplitOrderKey(last); q.Namespace != nil && namespace != *q.Namespace && last != "" {
		last = OrderKey(namespace, lastID()) // they stand together: go on behind them
	}
	return DeductionPage{Deductions: found, Next: last}
}

// History is a deduction with the instants at which it changed.
type History struct {
	Deduction
	TakenAt     time.Time
	CommittedAt time.Time // zero: when it was taken, or never, or by an older version
	EndedAt     time.Time // when it was cancelled or returned; zero: it was not, or by an older version
	Amendments  []Amendment
}

// EntryKind says what happened to a deduction.
type EntryKind string

// The kinds of entries.
const (
	EntryReserved   EntryKind = "reserved"
	EntryExtended   EntryKind = "extended"
	EntryCommitted  EntryKind = "committed"
	EntryCancelled  EntryKind = "cancelled"
	EntryExpired    EntryKind = "expired"
	EntryRetaken    EntryKind = "retaken" // committed after it had ended
	EntryReturned   EntryKind = "returned"
	EntryWrittenOff EntryKind = "written_off"
	EntryHandedOver EntryKind = "handed_over" // of an order: it got another buyer
)

// Entry is something that happened to a deduction, or to an order as a whole.
type Entry struct {
	Kind     EntryKind `json:"kind"`
	Quantity int64     `json:"quantity,omitempty"` // units that it concerns; 0 for an extension
	At       time.Time `json:"at"`
	Until    time.Time `json:"expires_at,omitzero"` // of a reservation or an extension: the end that holds then
	BuyerID  string    `json:"buyer_id,omitempty"`  // who got the order
	Ref      string    `json:"ref,omitempty"`
	Reason   string    `json:"reason,omitempty"`
}

// OrderHistory is what happened to an order of several SKUs.
type OrderHistory struct {
	HandOvers []Entry   // the first first
	Lines     []History // also those that a change has removed, ascending by SKU
}

// Entries returns what happened to the deduction, the first first. It leaves out what an older version did not date.
func (h History) Entries() []Entry {
	first := Entry{Kind: EntryCommitted, Quantity: h.Order.Quantity, At: h.TakenAt}
	if h.ReserveFor > 0 {
		first.Kind, first.Until = EntryReserved, h.TakenAt.Add(h.ReserveFor)
	}
	all := Column(h.Amendments, h.amended)
	if h.Order.Quantity > 0 { // otherwise a change of its order has added it
		all = slices.Insert(all, 0, first)
	}
	add := func(kind EntryKind, units int64, at time.Time) {
		all = append(all, Entry{Kind: kind, Quantity: units, At: at})
	}
	committed := cmp.Or(h.Committed, h.Quantity) // if it was
	for _, a := range h.Amendments {
		// Units that were taken again had ended before.
		if a.Ended > 0 && a.EndedAt.Before(h.ExpiresAt) {
			add(EntryCancelled, a.Ended, a.EndedAt)
		} else if a.Ended > 0 {
			add(EntryExpired, a.Ended, a.EndedAt)
		}
	}
	switch {
	case slices.ContainsFunc(h.Amendments, func(a Amendment) bool { return a.Verb == Retaken }):
	case !h.ExpiresAt.IsZero() && !h.CommittedAt.Before(h.ExpiresAt):
		add(EntryExpired, committed, h.ExpiresAt)
		add(EntryRetaken, committed, h.CommittedAt)
	case !h.CommittedAt.IsZero():
		add(EntryCommitted, committed, h.CommittedAt)
	case h.Status == StatusExpired:
		add(EntryExpired, h.Quantity, h.ExpiresAt)
	}
	// Whether the last part was cancelled, which an amendment tells.
	inPart := slices.ContainsFunc(h.Amendments, func(a Amendment) bool { return a.Units > 0 && a.At.Equal(h.EndedAt) })
	if h.Status == StatusCancelled && !h.EndedAt.IsZero() && !inPart {
		add(EntryCancelled, h.Quantity, h.EndedAt)
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return a.At.Compare(b.At) })
	ends := first.Until
	for i := range all {
		if e := &all[i]; e.Kind == EntryExtended {
			if e.Until.Before(ends) {
				e.Until = ends // an extension never shortens
			}
			ends = e.Until
		}
	}
	return all
}

// amended returns an amendment as an entry.
func (h History) amended(a Amendment) Entry {
	c := Entry{Kind: EntryReturned, Quantity: a.Units, At: a.At, Ref: refOf(a.Ref), Reason: a.Reason}
	switch {
	case a.Verb == Reserve:
		c.Kind, c.Quantity = EntryReserved, a.Taken
	case a.Verb == Take:
		c.Kind, c.Quantity = EntryCommitted, a.Taken
	case a.Verb == Retaken:
		c.Kind, c.Quantity, c.Ref = EntryRetaken, a.Taken, ""
	case a.Extended > 0:
		c.Kind, c.Until = EntryExtended, a.At.Add(a.Extended)
	case a.Verb == WriteOff:
		c.Kind = EntryWrittenOff
	case a.Verb == Cancel, a.Verb == "" && h.Committed == 0:
		c.Kind = EntryCancelled
	}
	return c
}
