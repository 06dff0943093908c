package stock

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Settlement is a number of requests to end or return deductions of one SKU. No two have the same order id.
type Settlement struct {
	SKU string
	// Deadline and At are as in a [Batch].
	Deadline, At time.Time
	Requests     []SettleRequest
}

// SettleRequest asks for one deduction to be committed, cancelled or amended.
type SettleRequest struct {
	OrderID    string
	BuyerID    string // only a deduction of this buyer; "": of any buyer
	ExpireOnly bool   // none of these: only end it if it has expired
	Cancel     bool   // else commit
	Quantity   int64  // units to commit, the others are given back; 0: all. With Cancel and a Ref: units to give back
	// Ref makes an amendment happen once: the return of Quantity units, with Cancel, or else an extension.
	Ref        string
	Extend     time.Duration // reserve for that long from the decision on; 0: no extension
	MostExtend time.Duration // the largest Extend; 0: any
	// KeepCommitted refuses a cancel of what is committed, with CodeForbidden. The locked row decides, because a commit
	// may come between a read and the write.
	KeepCommitted bool
}

// Settled is what became of a request: the deduction as it is now, or a *[Error].
type Settled struct {
	Deduction Deduction
	Returned  int64 // units that went back for it
	Err       error
}

// OrderIDs returns the order ids of the requests, in their order.
func (s Settlement) OrderIDs() []string {
	return Column(s.Requests, func(r SettleRequest) string { return r.OrderID })
}

// SettlementPlan says how a settlement is carried out. Stores do so under the locks of the rows.
type SettlementPlan struct {
	Results []Settled
	// Changed are the deductions that get another status, with their parts if they had more than one, ascending by
	// order id.
	Changed []Deduction
	// Amended are the deductions that keep their status, and get another quantity or end.
	Amended []Deduction
	// Split are the deductions of Changed and Amended that are merged and keep some of their parts.
	Split []Deduction
	// Amendments are those to write: they happen now. An amendment's deduction may be in Changed, in Amended or in neither.
	Amendments []Amendment
	Returns
	Kept int64 // units of reservations that become committed
}

// PlanSettlement decides each request from the deductions with their parts, the amendments that have the requests' refs,
// both by order id, the instant of the decision and the number of segments. A request for what has happened already
// changes nothing and is answered with what is there. Any request that finds a reservation that has expired ends it, so
// that no caller learns that it has expired before a row says so.
func PlanSettlement(s Settlement, there map[string]Deduction, amended map[string]Amendment, at time.Time, segments int) SettlementPlan {
	plan := SettlementPlan{Results: make([]Settled, len(s.Requests)), Returns: newReturns()}
	for i, request := range s.Requests {
		before, ok := there[request.OrderID]
		if !ok || (request.BuyerID != "" && request.BuyerID != before.BuyerID) {
			plan.Results[i].Err = UnknownDeduction(s.SKU, request.OrderID)
			continue
		}
		done, replayed := amended[request.OrderID]
		on := func(d Deduction) (Deduction, []Part, error) {
			if request.Amends() && replayed {
				return d, nil, done.replayed(request.amendment())
			}
			return request.on(d, at)
		}
		after, back := before, []Part(nil)
		var err error
		if before.Due(at) {
			after.Status, back = StatusExpired, before.Parts
			_, _, err = on(after)
		} else {
			after, back, err = on(before)
		}
		plan.settle(i, before, after, err)
		plan.add(before, back, segments)
		if request.Amends() && !replayed && err == nil {
			plan.Amendments = append(plan.Amendments, request.amendment())
		}
	}
	slices.SortFunc(plan.Changed, byOrderID)
	slices.SortFunc(plan.Amended, byOrderID)
	slices.SortFunc(plan.Split, byOrderID)
	return plan
}

func byOrderID(a, b Deduction) int { return strings.Compare(a.OrderID, b.OrderID) }

// Check refuses a request that is not allowed.
func (w SettleRequest) Check() error {
	if err := checkKnownText("order_id", w.OrderID, maxIDBytes); err != nil {
		return err
	}
	if w.Amends() || w.Extend != 0 || w.Cancel && w.Quantity != 0 {
		return w.checkAmendment()
	}
	if w.Quantity == 0 {
		return nil
	}
	return checkQuantity(w.Quantity)
}

func (w SettleRequest) checkAmendment() error {
	if err := checkText("ref", w.Ref, maxIDBytes); err != nil {
		return err
	}
	switch {
	case w.Cancel:
		return checkQuantity(w.Quantity)
	case w.Extend == 0:
		return Invalid("reserve_for", "must be given")
	default:
		return checkReserve(w.Extend)
	}
}

// Amends reports whether the request asks for an amendment.
func (w SettleRequest) Amends() bool { return w.Ref != "" }

// amendment returns the amendment that the request asks for.
func (w SettleRequest) amendment() Amendment {
	if w.Cancel {
		return Amendment{OrderID: w.OrderID, Ref: w.Ref, Returned: w.Quantity}
	}
	return Amendment{OrderID: w.OrderID, Ref: w.Ref, Extended: w.Extend}
}

// MayReturn reports whether the request itself may return units. A commit of all units returns them only if the
// reservation has expired.
func (w SettleRequest) MayReturn() bool { return w.Cancel || w.ExpireOnly || w.Quantity > 0 }

// settle adds to the plan how a request changes a deduction, and its answer.
func (p *SettlementPlan) settle(i int, before, after Deduction, err error) {
	if p.Results[i].Err = err; err == nil {
		p.Results[i].Deduction = after
		p.Results[i].Deduction.Parts, p.Results[i].Deduction.Merged = nil, false
	}
	switch {
	case after.Status != before.Status:
		p.Changed = append(p.Changed, after)
	case after.Quantity != before.Quantity || !after.ExpiresAt.Equal(before.ExpiresAt):
		p.Amended = append(p.Amended, after)
	default:
		return
	}
	if before.Merged && after.Quantity < before.Quantity {
		p.Split = append(p.Split, after)
	}
	p.Results[i].Returned = before.Quantity - after.held()
	if before.Status == StatusReserved && after.Status == StatusCommitted {
		p.Kept += after.Quantity
	}
}

// on returns a deduction as the request leaves it, and the parts that go back.
func (w SettleRequest) on(d Deduction, at time.Time) (after Deduction, back []Part, err error) {
	switch {
	case w.ExpireOnly:
		return d, nil, nil
	case w.Cancel && w.KeepCommitted && d.Status == StatusCommitted:
		return d, nil, &Error{Code: CodeForbidden, Message: "the deduction is committed: you may give back what is reserved alone"}
	case w.Amends():
		return w.amendment().on(d, at, w.MostExtend)
	case w.Cancel && d.Status.Live():
		back, d.Status = d.Parts, StatusCancelled
		return d, back, nil
	case w.Cancel:
		return d, nil, nil // its units are back already
	case d.Status == StatusCommitted && (w.Quantity == 0 || w.Quantity == cmp.Or(d.Committed, d.Quantity)):
		return d, nil, nil
	case d.Status != StatusReserved:
		return d, nil, notReserved(d, "commit")
	case w.Quantity > d.Quantity:
		return d, nil, Invalid("quantity", "must be 1 to %d, which is what is reserved", d.Quantity)
	}
	d.Status = StatusCommitted
	if w.Quantity != 0 {
		d.Parts, back = splitParts(d.Parts, w.Quantity)
		d.Quantity = w.Quantity
	}
	return d, back, nil
}

// held returns how many units a deduction holds.
func (d Deduction) held() int64 {
	if d.Status.Live() {
		return d.Quantity
	}
	return 0
}

// Amendment changes a deduction that stays: its reservation is extended, or a part of it is given back. Ref makes it
// happen only once in its deduction.
type Amendment struct {
	OrderID  string
	Ref      string
	Returned int64         // units that were given back
	Extended time.Duration // how long the reservation lasts from the amendment on
}

// replayed answers a request with the ref of this amendment: [RefReused], unless it asks for the same amendment.
func (a Amendment) replayed(asked Amendment) error {
	if a != asked {
		return RefReused(a.Ref)
	}
	return nil
}

// on returns a deduction as the amendment leaves it, and the parts that go back. most is the longest extension; 0: any.
func (a Amendment) on(d Deduction, at time.Time, most time.Duration) (after Deduction, back []Part, err error) {
	if a.Returned > 0 {
		return a.giveBack(d)
	}
	after, err = a.extend(d, at, most)
	return after, nil, err
}

// extend moves the end of a reservation to a later instant, never to an earlier one.
func (a Amendment) extend(d Deduction, at time.Time, most time.Duration) (Deduction, error) {
	if d.Status != StatusReserved {
		return d, notReserved(d, "extend")
	}
	if most > 0 && a.Extended > most {
		return d, reservedTooLong(d.SKU, most)
	}
	if until := at.Add(a.Extended); until.After(d.ExpiresAt) {
		d.ExpiresAt = until
	}
	return d, nil
}

// giveBack gives units back, from the last parts first. Giving back all units cancels the deduction.
func (a Amendment) giveBack(d Deduction) (after Deduction, back []Part, err error) {
	switch {
	case !d.Status.Live():
		return d, nil, notReserved(d, "give back")
	case a.Returned > d.Quantity:
		return d, nil, Invalid("quantity", "must be 1 to %d, which is what the deduction holds", d.Quantity)
	case a.Returned == d.Quantity:
		back, d.Status = d.Parts, StatusCancelled
		return d, back, nil
	}
	if d.Status == StatusCommitted && d.Committed == 0 {
		d.Committed = d.Quantity
	}
	d.Quantity -= a.Returned
	d.Parts, back = splitParts(d.Parts, d.Quantity)
	return d, back, nil
}

// Returns are units on their way back.
type Returns struct {
	Segments map[int]int64    // per segment of today's layout
	Reserved map[int]int64    // of these, the units that were reserved and not committed yet
	Buyers   map[string]int64 // per buyer
}

func newReturns() Returns {
	return Returns{Segments: make(map[int]int64), Reserved: make(map[int]int64), Buyers: make(map[string]int64)}
}

// Units returns how many come back.
func (r Returns) Units() (units int64) {
	for _, n := range r.Segments {
		units += n
	}
	return units
}

// add returns parts of a deduction to the segments that gave them. If the layout has changed since, and such a segment
// is gone, another one gets its part.
func (r Returns) add(d Deduction, parts []Part, segments int) {
	for _, p := range parts {
		r.Segments[p.Segment%segments] += p.Quantity
		if d.Status == StatusReserved {
			r.Reserved[p.Segment%segments] += p.Quantity
		}
		if d.BuyerID != "" {
			r.Buyers[d.BuyerID] += p.Quantity
		}
	}
}

// Ascending returns the segments and the buyers of returns in the order in which their rows are locked.
func (r Returns) Ascending() (segments []int, buyers []string) {
	return slices.Sorted(maps.Keys(r.Segments)), slices.Sorted(maps.Keys(r.Buyers))
}

// PlanExpiry returns what goes back from reservations that have expired. They must have their parts.
func PlanExpiry(expired []Deduction, segments int) Returns {
	back := newReturns()
	for _, d := range expired {
		back.add(d, d.Parts, segments)
	}
	return back
}
