package stock

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Settlement is a number of requests to settle deductions of one SKU. No two have the same order id.
type Settlement struct {
	SKU string
	// Deadline and At are as in a [Batch].
	Deadline, At time.Time
	Requests     []SettleRequest
}

// Verb is what a request wants of a deduction, and what an amendment has done to it.
type Verb string

// The verbs. The usual request commits.
const (
	Commit   Verb = ""          // keep what is reserved
	Cancel   Verb = "cancel"    // give back what is reserved
	Return   Verb = "return"    // give back what is committed
	WriteOff Verb = "write_off" // of an amendment: a return whose units are not sold again
	Extend   Verb = "extend"    // give a reservation a later end
	Expire   Verb = "expire"    // of a request: end a reservation if it has expired
	Reserve  Verb = "reserve"   // of an amendment: a change of the order has reserved more units
	Take     Verb = "take"      // of an amendment: a change of the order has committed more units
	Retaken  Verb = "retake"    // of an amendment: the units of a reservation that had ended were taken again
)

// SettleRequest asks for one deduction to be committed, cancelled, returned or extended.
type SettleRequest struct {
	Verb     Verb
	OrderID  string
	BuyerID  string // only a deduction of this buyer; "": of any buyer
	Quantity int64  // units to commit, the others are given back; or units to cancel or return; 0: all
	// Ref makes an extension, or the cancel or return of a part, happen once. A return of all has none.
	Ref        string
	ExtendFor  time.Duration // reserve for that long from the decision on
	MostExtend time.Duration // the largest ExtendFor; 0: any
	WriteOff   bool          // the returned units are not sold again
	Reason     string        // of a return
	// InOrder says that all lines of an order of several SKUs are settled together. Alone, a line can only be returned.
	InOrder bool
	again   bool // all lines of the order have come back already: the line says whether by this request
	// Revision is that of the order, as its lines were looked up: [ErrRevised] if it has others now.
	Revision int
	// Releases says that a line leaves its order, because other lines are committed without it.
	Releases bool
	// OnlyExpired says that a retake takes no units of a reservation that was cancelled.
	OnlyExpired bool
}

// Settled is what became of a request: the deduction as it is now, or a *[Error].
type Settled struct {
	Deduction Deduction
	Returned  int64 // units that went back into stock for it
	Err       error
}

// OrderIDs returns the order ids of the requests, in their order.
func (s Settlement) OrderIDs() []string {
	return Column(s.Requests, func(r SettleRequest) string { return r.OrderID })
}

// SettlementPlan says how a settlement is carried out. Stores do so under the locks of the rows.
type SettlementPlan struct {
	Results []Settled
	// Changed are the deductions that get another status, quantity or end, with their parts, ascending by order id.
	Changed []Deduction
	// Amendments are those to write: they happen now. The rows of all segments must be locked for one that writes units off.
	Amendments []Amendment
	Revised    []Deduction // lines that leave their orders, in addition to Changed
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
		found := before
		if before.Due(at) {
			found.Status = StatusExpired
		}
		after, made, err := request.on(found, amended, at)
		back := after.keep(before)
		writesOff := request.WriteOff && before.Status == StatusCommitted // a reservation that has expired goes back
		if writesOff {
			after.WrittenOff = unitsOf(back)
		}
		plan.settle(i, before, after, err)
		plan.add(before, back, segments, !writesOff)
		if made.OrderID != "" {
			made.Revision = before.Revision
			plan.Amendments = append(plan.Amendments, made)
		}
	}
	slices.SortFunc(plan.Changed, func(a, b Deduction) int { return strings.Compare(a.OrderID, b.OrderID) })
	return plan
}

// PlanLines decides settlements of different SKUs, each by plan. If they are lines of an order, which have one request each, and one is
// refused, they change nothing, but end reservations that have expired.
func PlanLines(lines []Settlement, plan func(Settlement) SettlementPlan) (plans []SettlementPlan, results []Settled) {
	refused, returned := false, len(lines) > 0
	for _, line := range lines {
		p := plan(line)
		plans, results = append(plans, p), append(results, p.Results...)
		refused = refused || len(line.Requests) == 1 && line.Requests[0].InOrder && p.Results[0].Err != nil
		returned = returned && line.returnsAgain(p)
	}
	if returned {
		refuseOtherReturns(lines, results, plan)
	}
	if extendedBefore(lines, plans, results) {
		for i, line := range lines {
			if made := plans[i].Amendments; len(made) > 0 || results[i].Err != nil && CodeOf(results[i].Err) != CodeRefReused && !errors.Is(results[i].Err, ErrRevised) {
				plans[i] = plan(line.ending())
				results[i] = plans[i].Results[0]
			}
		}
		refused = slices.ContainsFunc(results, func(r Settled) bool { return r.Err != nil })
	}
	for i := 0; refused && i < len(plans); i++ {
		plans[i] = plan(lines[i].ending())
		results[i].Returned = plans[i].Results[0].Returned
	}
	return plans, results
}

// ending returns the settlement of a line, as it only ends a reservation that has expired.
func (s Settlement) ending() Settlement {
	request := s.Requests[0]
	request.Verb, request.WriteOff, request.Releases = Expire, false, false
	s.Requests = []SettleRequest{request}
	return s
}

// extendedBefore reports whether lines of an order have the extension that is asked for: those that were added since get none.
func extendedBefore(lines []Settlement, plans []SettlementPlan, results []Settled) bool {
	for i, line := range lines {
		if len(line.Requests) == 1 && line.Requests[0].InOrder && line.Requests[0].Verb == Extend && results[i].Err == nil && len(plans[i].Amendments) == 0 {
			return true
		}
	}
	return false
}

// refuseOtherReturns refuses the return of an order that has come back already, if it was another return by which its lines came back.
// Lines that were returned alone, before the others, may differ: then one of the others is as the request asks.
func refuseOtherReturns(lines []Settlement, results []Settled, plan func(Settlement) SettlementPlan) {
	refusals := make([]error, len(lines))
	for i, line := range lines {
		line.Requests = slices.Clone(line.Requests)
		line.Requests[0].again = true
		if refusals[i] = plan(line).Results[0].Err; refusals[i] == nil {
			return
		}
	}
	for i, err := range refusals {
		if !errors.Is(err, errReturnedInParts) {
			results[i].Err = err
		}
	}
}

// errReturnedInParts says of a line that no request has returned all of it.
var errReturnedInParts = errors.New("it was returned in parts")

// returnsAgain reports whether a line of an order that is to be returned was returned before.
func (s Settlement) returnsAgain(p SettlementPlan) bool {
	request := s.Requests[0]
	return request.InOrder && request.Verb == Return && p.Results[0].Err == nil && len(p.Changed) == 0
}

// Check refuses a request that is not allowed.
func (w SettleRequest) Check() error {
	err := cmp.Or(CheckKnownID("order_id", w.OrderID), checkOptional("reason", w.Reason, maxReasonBytes))
	part := w.Verb != Commit && w.Quantity != 0
	if w.Ref != "" || part || w.Verb == Extend {
		err = cmp.Or(err, checkText("ref", w.Ref, maxIDBytes))
	}
	switch {
	case err != nil:
		return err
	case w.Verb == Extend && w.ExtendFor == 0:
		return Invalid("reserve_for", "must be given")
	case w.Verb == Extend:
		return checkReserve("reserve_for", w.ExtendFor)
	case w.Quantity == 0 && w.Ref == "":
		return nil
	default:
		return checkQuantity(w.Quantity)
	}
}

// Amends reports whether the request makes an amendment.
func (w SettleRequest) Amends() bool {
	return w.Verb == Extend || w.Verb == Return || w.Verb == Cancel && w.Ref != ""
}

// amendment returns the amendment that the request asks for.
func (w SettleRequest) amendment() Amendment {
	a := Amendment{OrderID: w.OrderID, Ref: w.Ref, Verb: w.Verb, Units: w.Quantity, Extended: w.ExtendFor, Reason: w.Reason}
	if w.WriteOff {
		a.Verb = WriteOff
	}
	return a
}

// MayRetake reports whether a commit that comes after the end of a reservation may take its units again: nobody has paid for them
// before.
func (w SettleRequest) MayRetake(ended DeductionStatus) bool {
	return w.Verb == Commit && (ended == StatusExpired || ended == StatusCancelled && !w.OnlyExpired)
}

// MayReturn reports whether the request itself may return units. A commit of all units returns them only if the
// reservation has expired.
func (w SettleRequest) MayReturn() bool {
	return w.Verb == Cancel || w.Verb == Return || w.Verb == Expire || w.Verb == Commit && w.Quantity > 0
}

// settle adds to the plan how a request changes a deduction, and its answer.
func (p *SettlementPlan) settle(i int, before, after Deduction, err error) {
	if p.Results[i].Err = err; err == nil {
		p.Results[i].Deduction = after
		d := &p.Results[i].Deduction
		d.Parts, d.Merged, d.InOrder, d.WrittenOff, d.CountedAt = nil, false, false, 0, ""
		d.Revision, d.Removed = 0, false
	}
	if after.Revision != before.Revision {
		p.Revised = append(p.Revised, after)
	}
	if after.Status == before.Status && after.Quantity == before.Quantity && after.ExpiresAt.Equal(before.ExpiresAt) {
		return
	}
	p.Changed = append(p.Changed, after)
	p.Results[i].Returned = before.held() - after.held() - after.WrittenOff
	if before.Status == StatusReserved && after.Status == StatusCommitted {
		p.Kept += after.Quantity
	}
}

// on returns a deduction as the request leaves it, and the amendment that it makes; the zero Amendment is none. amended has the one with
// the request's ref, if there is one.
func (w SettleRequest) on(d Deduction, amended map[string]Amendment, at time.Time) (after Deduction, made Amendment, err error) {
	if d.InOrder && !w.InOrder && w.Verb != Return && w.Verb != Expire {
		return d, made, partOfOrder(d)
	}
	if w.InOrder && w.Verb != Expire && d.Revision > w.Revision {
		return d, made, ErrRevised
	}
	if w.InOrder && w.Verb == Return && d.Status == StatusReturned && !w.again { // alone, before the others
		return d, made, nil
	}
	if done, replayed := amended[w.OrderID]; replayed && w.Amends() {
		return d, made, done.replayed(w.amendment())
	}
	if w.again {
		return d, made, errReturnedInParts
	}
	switch done, err := w.found(d); {
	case done && w.Releases && !d.Removed && !d.Status.Live():
		d.Removed, d.Revision = true, w.Revision+1
		return d, made, nil
	case done || err != nil:
		return d, made, err
	case w.Verb == Extend && w.MostExtend > 0 && w.ExtendFor > w.MostExtend:
		return d, made, reservedTooLong(d.SKU, w.MostExtend)
	case w.Quantity > d.Quantity:
		return d, made, Invalid("quantity", "must be 1 to %d, which is what the deduction holds", d.Quantity)
	}
	if after = w.change(d, at); w.Releases {
		after.Removed, after.Revision = true, w.Revision+1
	}
	if w.Amends() {
		made = w.amendment()
		made.Units = d.held() - after.held()
	}
	return after, made, nil
}

// found reports whether a deduction is already as the request wants it. Otherwise it returns why its state does not allow the request,
// or nil if it does.
func (w SettleRequest) found(d Deduction) (done bool, err error) {
	all, committed := w.Quantity == 0, d.Status == StatusCommitted
	switch {
	case w.Verb == Expire:
		return true, nil
	case w.Verb == Return && committed, w.Verb != Return && d.Status == StatusReserved:
		return false, nil
	case w.Verb == Commit && committed && (all || w.Quantity == cmp.Or(d.Committed, d.Quantity)):
		return true, nil
	case w.Verb == Commit && d.Status == StatusReturned && w.InOrder: // it was committed with the others
		return true, nil
	case w.Verb == Return && d.Status == StatusReturned && all:
		return true, nil
	case w.Verb == Return:
		return false, ofDeduction(d, CodeNotCommitted, "the deduction is %s: there is nothing to return", d.Status)
	case w.Verb != Extend && (committed || d.Status == StatusReturned): // the commit was first
		return false, AlreadyCommitted(d)
	case w.Verb == Cancel && all: // its units are back already
		return true, nil
	default:
		return false, ofDeduction(d, CodeNotReserved, "the deduction is %s: there is nothing to %s", d.Status, cmp.Or(w.Verb, "commit"))
	}
}

// change returns a deduction as the request leaves it. One that keeps no units ends, and says how many it held last. An extension moves
// the end of a reservation to a later instant, never to an earlier one.
func (w SettleRequest) change(d Deduction, at time.Time) Deduction {
	units, ended := cmp.Or(w.Quantity, d.Quantity), StatusCancelled
	keep := d.Quantity - units
	switch until := at.Add(w.ExtendFor); w.Verb {
	case Extend:
		if until.After(d.ExpiresAt) {
			d.ExpiresAt = until
		}
		return d
	case Commit:
		d.Status, d.CommittedAt, keep = StatusCommitted, at, units
	case Return:
		d.Committed, ended = cmp.Or(d.Committed, d.Quantity), StatusReturned
	}
	if keep == 0 {
		d.Status = ended
	} else {
		d.Quantity = keep
	}
	return d
}

// keep keeps as many parts as the deduction holds units now, and returns the others of those before. The last parts go back first.
func (d *Deduction) keep(before Deduction) (back []Part) {
	if !before.Status.Live() {
		return nil
	}
	kept, back := splitParts(before.Parts, d.held())
	if d.Status.Live() {
		d.Parts = kept
	}
	return back
}

// held returns how many units a deduction holds.
func (d Deduction) held() int64 {
	if d.Status.Live() {
		return d.Quantity
	}
	return 0
}

// Amendment is a change of a deduction that is written down: its reservation was extended, or units were given back or taken later. Ref
// makes it happen only once in its deduction; the return of all units at once has none.
type Amendment struct {
	OrderID  string
	Ref      string
	Verb     Verb          // "": one of an older version, whatever it has done
	Units    int64         // that were given back
	Taken    int64         // that were taken
	Ended    int64         // of units that are taken again: how many went back when the reservation ended, unless amendments say so
	EndedAt  time.Time     // when that was
	Extended time.Duration // how long the reservation lasts from the amendment on
	Reason   string
	At       time.Time // when it happened; zero: now
	Revision int       // of one that is made: after which change of its order
}

// Replays reports whether a request was carried out by an amendment before, and returns [RefReused] if that was another one with its ref.
func (w SettleRequest) Replays(a Amendment) (is bool, err error) {
	if is = w.Verb == a.Verb && a.Ref == w.Ref; is {
		a.OrderID = w.OrderID
		err = a.replayed(w.amendment())
	}
	return is, err
}

// replayed answers a request with the ref of this amendment: [RefReused], unless it asks for the same amendment.
func (a Amendment) replayed(asked Amendment) error {
	if a.At = asked.At; a.Verb == "" {
		asked.Verb = ""
	}
	if asked.Units == 0 && asked.Extended == 0 { // the return of all there was
		asked.Units = a.Units
	}
	if a == asked {
		return nil
	}
	var d differences
	d.add("the quantity", a.Units, asked.Units)
	d.add("reserve_for", a.Extended, asked.Extended)
	d.add("restock", a.Verb != WriteOff, asked.Verb != WriteOff)
	d.add("the reason", a.Reason, asked.Reason)
	err := RefReused(a.Ref)
	if a.Ref == "" {
		err.Message = "all that was left has been returned before, by another request"
	}
	err.Message += d.String()
	return err
}

// Movement returns what the ledger says of units that were written off. After a change, which may take returned units again, the return of all
// is another one than that before, and has another ref there.
func (a Amendment) Movement(sku string) Movement {
	ref := a.Ref
	if ref == "" && a.Revision > 0 {
		ref = AsideRef(a.Revision)
	}
	return Movement{SKU: sku, Ref: writeOffRef(a.OrderID, ref), Kind: WrittenOff, Quantity: -a.Units, Reason: a.Reason, At: a.At}
}

// Returns are units on their way back.
type Returns struct {
	Segments map[int]int64     // per segment of today's layout
	Reserved map[int]int64     // of these, the units that were reserved and not committed yet
	Buyers   map[Counted]int64 // where units were counted
}

// Counted is a buyer in a count: that of a SKU with a buyer limit.
type Counted struct{ At, BuyerID string }

// Compare orders the rows of buyers as every write locks them.
func (c Counted) Compare(other Counted) int {
	return cmp.Or(cmp.Compare(c.At, other.At), cmp.Compare(c.BuyerID, other.BuyerID))
}

func newReturns() Returns {
	return Returns{Segments: make(map[int]int64), Reserved: make(map[int]int64), Buyers: make(map[Counted]int64)}
}

func unitsOf(parts []Part) (units int64) {
	for _, p := range parts {
		units += p.Quantity
	}
	return units
}

// Free has units go to a free segment in place of one whose row another transaction holds. It reports false if there is none.
func (r Returns) Free(rows []Segment) bool {
	free := FreeOf(rows)
	for _, units := range []map[int]int64{r.Segments, r.Reserved} {
		for i, row := range rows {
			if row.Held && units[i] != 0 {
				if len(free) == 0 {
					return false
				}
				units[free[0]] += units[i]
				delete(units, i)
			}
		}
	}
	return true
}

// Units returns how many come back.
func (r Returns) Units() (units int64) {
	for _, n := range r.Segments {
		units += n
	}
	return units
}

// add returns parts of a deduction to the segments that gave them. If the layout has changed since, and such a segment
// is gone, another one gets its part. Units that are not sold again go back to no segment.
func (r Returns) add(d Deduction, parts []Part, segments int, sold bool) {
	for _, p := range parts {
		if sold {
			r.Segments[p.Segment%segments] += p.Quantity
		}
		if d.Status == StatusReserved {
			r.Reserved[p.Segment%segments] += p.Quantity
		}
		if d.CountedAt != "" {
			r.Buyers[Counted{d.CountedAt, d.BuyerID}] += p.Quantity
		}
	}
}

// PlanExpiry returns what goes back from reservations that have expired. They must have their parts.
func PlanExpiry(expired []Deduction, segments int) Returns {
	back := newReturns()
	for _, d := range expired {
		back.add(d, d.Parts, segments, true)
	}
	return back
}

// Retake asks for the units of a reservation that has ended: its buyer has paid after it had expired, or after it was cancelled. They
// are taken again and committed if they are there. The terms of the first time hold, so the sale may be over; but a buyer never holds more than the limit.
type Retake struct {
	SKU    string
	Layout int64 // [ErrLayout] if the SKU has another one
	Limit  int64 // per buyer; 0: none
	// LimitGroup is as in a [Batch].
	LimitGroup string
	Request    SettleRequest
	At         time.Time // as in a [Batch]
}

// RetakeRef is the ref of the amendment of a retake. A deduction is taken again once, because it is committed then.
const RetakeRef = refSeparator + "retake"

// AsideRef is the ref of a return of all that was set aside when a change took units again: so the next return of all is another one.
func AsideRef(revision int) string { return refSeparator + "return" + strconv.Itoa(revision) }

// refOf returns the ref of a request, "" if it had none.
func refOf(ref string) string {
	if strings.HasPrefix(ref, refSeparator) {
		return ""
	}
	return ref
}

// Plan decides a retake of a deduction whose reservation has ended, from the rows of all segments, as a merge of one order. It returns
// the deduction as it is then.
func (r Retake) Plan(d Deduction, segments []Segment, facts Facts) (taken Deduction, merge Batch, plan BatchPlan, err error) {
	order := d.Order
	order.Quantity, order.ReserveFor = cmp.Or(r.Request.Quantity, d.Quantity), 0
	merge = Batch{SKU: r.SKU, Layout: r.Layout, Segment: AllSegments, At: r.At, Orders: []Order{order}}
	if d.BuyerID != "" { // otherwise the SKU had no limit then
		merge.Limit, merge.LimitGroup = r.Limit, r.LimitGroup
	}
	switch {
	case order.Quantity > d.Quantity:
		return taken, merge, plan, Invalid("quantity", "must be 1 to %d, which is what was reserved", d.Quantity)
	case segments[0].Layout == ArchivedLayout:
		return taken, merge, plan, ofDeduction(d, CodeNotReserved, "the reservation is %s, and the SKU is archived", d.Status)
	}
	if plan, err = PlanBatch(merge, segments, facts); err == nil {
		err = merge.refusalOfLine(plan.BatchResult)
	}
	if refused, ok := errors.AsType[*Error](err); ok {
		expired := ofDeduction(d, CodeNotReserved, "the reservation is %s, and its units cannot be taken again: %s", d.Status, refused.Message)
		expired.LimitOf, expired.LimitGroup = refused.LimitOf, refused.LimitGroup
		return taken, merge, plan, expired
	}
	taken = d
	taken.Status, taken.Quantity, taken.Parts, taken.Merged, taken.CountedAt = StatusCommitted, order.Quantity, nil, false, ""
	taken.CommittedAt = facts.At
	taken.Revision = 0 // only a settlement fills it
	return taken, merge, plan, err
}
