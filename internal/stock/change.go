package stock

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// OrderChange asks for an order of several SKUs to have other lines: a reserved order gives units back or takes more until its end, which
// stays; of a committed one the surplus is returned, and the rest is committed at once.
type OrderChange struct {
	OrderID string
	BuyerID string // only an order of this buyer; "": of any buyer
	// Ref makes the change happen once in its order.
	Ref   string
	Lines []Line // as they shall be
	// NewBuyer is whose the order is then; "": whose it is now. Only orders of the shop's own namespace change hands.
	NewBuyer     string
	WriteOff     bool // what a committed order returns is not sold again
	Reason       string
	CallerMax    int64 // units of each line, see [Order]
	OnlyReserved bool  // the caller may not return what is committed
}

// Check refuses a change that is not allowed.
func (c OrderChange) Check() error {
	return cmp.Or(CheckKnownID("order_id", c.OrderID), checkText("ref", c.Ref, maxIDBytes), CheckLines(c.Lines),
		checkOptional("buyer_id", c.NewBuyer, maxIDBytes), checkOptional("reason", c.Reason, maxReasonBytes))
}

// Sorted returns the change with its lines ascending by SKU.
func (c OrderChange) Sorted() OrderChange {
	c.Lines = slices.SortedFunc(slices.Values(c.Lines), func(a, b Line) int { return strings.Compare(a.SKU, b.SKU) })
	return c
}

// Units returns how many units of a SKU the order shall hold.
func (c OrderChange) Units(sku string) int64 {
	for _, line := range c.Lines {
		if line.SKU == sku {
			return line.Quantity
		}
	}
	return 0
}

// Replay answers a change whose ref the order has already: [RefReused], unless both ask for the same. Their lines are sorted.
func (c OrderChange) Replay(there OrderChange) error {
	if !slices.Equal(c.Lines, there.Lines) || c.NewBuyer != there.NewBuyer || c.WriteOff != there.WriteOff || c.Reason != there.Reason {
		return RefReused(c.Ref)
	}
	return nil
}

// Revision says how a change of an order is carried out.
type Revision struct {
	Change OrderChange // its lines ascending by SKU, and OrderID the order's key
	Order  PlacedOrder // as it was looked up
	// Lines are those that the order has and those that it shall have, ascending by SKU.
	Lines []RevisedLine
	// OnlyReplay says that the change was made before, or there is no such order.
	OnlyReplay bool
	// Deadline and At are as in a [Batch].
	Deadline, At time.Time
}

// RevisedLine is a line of a [Revision]: the units that it takes are those of a merge.
type RevisedLine struct {
	Batch           // without orders
	Was     int64   // units that it held when it was looked up
	Levels  []int64 // what the segments held then
	Refusal error   // why the terms of the batch's layout do not allow more units
}

// Seen returns the lines as they were looked up, in place of what a store finds under its locks. It reports false unless the change is a usual one:
// no line was removed before, and no buyer is counted.
func (r Revision) Seen() (found []FoundLine, usual bool) {
	usual = !r.OnlyReplay
	for _, line := range r.Lines {
		var f FoundLine
		of := func(d Deduction) bool { return d.SKU == line.SKU }
		if at := slices.IndexFunc(r.Order.Lines, of); at >= 0 {
			f.There, f.Known = r.Order.Lines[at], true
			f.There.InOrder, f.There.Parts = true, r.Order.From[line.SKU]
			f.There.Merged, usual = len(f.There.Parts) > 1, usual && f.There.Parts != nil
		}
		if r.Moves(line) {
			f.Segments = Column(line.Levels, func(units int64) Segment { return Segment{Available: units, Layout: line.Layout} })
		}
		found, usual = append(found, f), usual && line.Limit == 0 && !slices.ContainsFunc(r.Order.Removed, of)
	}
	return found, usual
}

// NeedsUnits reports whether the line seems to need more units.
func (r Revision) NeedsUnits(line RevisedLine) bool { return r.Change.Units(line.SKU) > line.Was }

// Moves reports whether the line seems to change where units are, or whose they are. Then the rows of all segments have to be locked.
func (r Revision) Moves(line RevisedLine) bool {
	return r.Change.Units(line.SKU) != line.Was || r.Change.NewBuyer != ""
}

// Counts returns in which count the line's units move: "" if it does not move, or its buyer is not counted.
func (r Revision) Counts(line RevisedLine) string {
	if line.Limit == 0 || r.Buyer() == "" || !r.Moves(line) {
		return ""
	}
	return line.CountedAt()
}

// Gains reports whether the line seems to need more units, or its buyer seems to be counted with more.
func (r Revision) Gains(line RevisedLine) bool {
	return r.NeedsUnits(line) || r.Change.NewBuyer != "" && r.Counts(line) != ""
}

// InGroups reports whether units move in the counts of groups.
func (r Revision) InGroups() bool {
	return slices.ContainsFunc(r.Lines, func(line RevisedLine) bool { return IsGroup(r.Counts(line)) })
}

// Buyer returns whose the order is after the change.
func (r Revision) Buyer() string { return cmp.Or(r.Change.NewBuyer, r.Order.BuyerID) }

// FoundLine is what a store has found of a line under its locks.
type FoundLine struct {
	There    Deduction
	Known    bool      // There is the deduction of the order's id
	Segments []Segment // once the units of expired reservations are back; without them nothing of the SKU moves
	Expired  int       // reservations whose units came back
	// HasExpired says, in a change in groups, that reservations have expired whose units are not back.
	HasExpired bool
	RefUsed    bool  // an amendment of the deduction has the change's ref
	Units      int64 // with which the buyer is counted where the line is
}

// stale reports whether a refusal may not hold once the units of expired reservations are back.
func (f FoundLine) stale() bool { return f.HasExpired || f.Expired == ExpireLimit }

// counted returns the deduction's count and buyer.
func (f FoundLine) counted() Counted { return Counted{f.There.CountedAt, f.There.BuyerID} }

// CountedInGroups returns the buyers whose units move in the counts of groups.
func (r Revision) CountedInGroups(found []FoundLine) (all []Counted) {
	for i, line := range r.Lines {
		if of := found[i].counted(); found[i].There.held() > 0 {
			all = append(all, of)
		}
		all = append(all, Counted{r.Counts(line), r.Buyer()})
	}
	return slices.DeleteFunc(all, func(of Counted) bool { return !IsGroup(of.At) })
}

// LinePlan says what becomes of a line.
type LinePlan struct {
	SettlementPlan           // what goes back
	more           int64     // units that it takes
	wasReturned    bool      // all of its units had been returned
	Merge          Batch     // what is taken, of one order; without orders nothing
	Taken          BatchPlan // of Merge
	After          Deduction // the line as it is then, with its parts
	Added          bool      // it is a new deduction
	Counted        int64     // units with which its buyer is counted in addition
	Limit          int64     // that its buyer may hold; 0: nobody is counted
	CountedAt      string    // where its units are counted then; "": nowhere
}

// WasReturned reports whether all units of the line had been returned before: by a return that has no ref, perhaps.
func (p LinePlan) WasReturned() bool { return p.wasReturned }

// More returns how many units the line takes.
func (p LinePlan) More() int64 { return p.more }

// ErrRevised is returned by a [Store] that found other lines than its caller had looked up: the order was changed meanwhile. Nothing was
// written.
var ErrRevised = fmt.Errorf("%w: the order has other lines now", ErrUnwritten)

// Plan decides a change from what was found of its lines, at an instant. A refusal names each line that refuses. Units that go
// back leave the counts of buyers before anything is taken, so that a line may take in a group what another one gives back.
func (r Revision) Plan(found []FoundLine, at time.Time) (plans []LinePlan, err error) {
	status, until, err := r.state(found, at)
	if err != nil {
		return nil, err
	}
	held := make(map[string]int64) // by the buyer, in each count
	for i, line := range r.Lines {
		if in := r.Counts(line); in != "" {
			held[in] = found[i].Units
		}
	}
	plans = make([]LinePlan, len(r.Lines))
	for i, line := range r.Lines {
		if plans[i], err = r.leave(line, found[i], at); err != nil {
			return nil, err
		}
		for of, units := range plans[i].Buyers {
			if of.BuyerID == r.Buyer() {
				held[of.At] -= units
			}
		}
	}
	var refused []*Error
	for i, line := range r.Lines {
		err := plans[i].planAddition(r, line, found[i], held, status, until, at)
		if e, is := errors.AsType[*Error](err); is {
			named := *e
			named.SKU = line.SKU
			refused = append(refused, &named)
		} else if err != nil {
			return nil, err
		}
	}
	if refused == nil {
		return plans, nil
	}
	first := *refused[0]
	first.Message, first.Lines = fmt.Sprintf("the line of SKU %q: %s", first.SKU, first.Message), refused
	return nil, &first
}

// state returns whether the order is reserved, and until when, or committed. An order that has ended cannot be changed.
func (r Revision) state(found []FoundLine, at time.Time) (status DeductionStatus, until time.Time, err error) {
	var ended []*Error
	for _, f := range found {
		switch d := f.There; {
		case !f.Known:
		case !d.InOrder:
			return "", until, OrderIDReused()
		case !d.Removed && d.BuyerID != r.Order.BuyerID: // who is forgotten since
			return "", until, ErrRevised
		case d.Revision > r.Order.Revision:
			return "", until, ErrRevised
		case f.RefUsed:
			return "", until, RefReused(r.Change.Ref)
		case d.Removed:
		case d.Due(at):
			d.Status = StatusExpired
			ended = append(ended, OrderEnded(d))
		case !d.Status.Live():
			ended = append(ended, OrderEnded(d))
		case d.Status == StatusCommitted && r.Change.OnlyReserved:
			return "", until, ofDeduction(d, CodeAlreadyCommitted, "the order was committed: only the shop exchanges it")
		default:
			status, until = d.Status, d.ExpiresAt
		}
	}
	if len(ended) > 0 && status != StatusCommitted { // of a committed one, lines were returned
		first := *ended[0]
		first.SKU, first.Lines = "", ended
		return "", until, &first
	}
	return status, until, nil
}

// leave plans what goes back of a line, and leaves the count of its buyer: the surplus, and if units are counted elsewhere or for another
// buyer from now on, all.
func (r Revision) leave(line RevisedLine, found FoundLine, at time.Time) (p LinePlan, err error) {
	d, want := found.There, r.Change.Units(line.SKU)
	if !found.Known {
		d = Deduction{SKU: line.SKU, Order: Order{OrderID: r.Change.OrderID, BuyerID: r.Order.BuyerID, ReserveFor: r.Order.ReserveFor}, InOrder: true}
		p.Added = true
	}
	more := want - d.held()
	switch {
	case len(found.Segments) == 0 && (more != 0 || r.Change.NewBuyer != ""), more > 0 && !r.NeedsUnits(line):
		return p, ErrRevised
	case (more > 0 || r.handsOver()) && found.Segments[0].Layout != line.Layout:
		return p, ErrLayout
	}
	p.Returns, p.After, p.Limit, p.CountedAt = newReturns(), d, line.Limit, d.CountedAt
	if more < 0 {
		p.giveBack(r.Change, d, -more, at, len(found.Segments))
	}
	if p.more = max(more, 0); p.more > 0 || r.handsOver() {
		p.CountedAt, p.Counted = r.Counts(line), p.more
		if kept := min(d.held(), want); p.CountedAt != d.CountedAt || r.handsOver() {
			p.Counted = want
			if d.CountedAt != "" && kept > 0 {
				p.Buyers[found.counted()] += kept
			}
		}
	}
	if p.CountedAt == "" {
		p.Counted = 0
	}
	p.After.BuyerID, p.After.Removed, p.After.Revision = r.Buyer(), want == 0, r.Order.Revision+1
	return p, nil
}

// giveBack plans the surplus of a line, as a cancel or a return of a part would.
func (p *LinePlan) giveBack(c OrderChange, d Deduction, units int64, at time.Time, segments int) {
	request := SettleRequest{Verb: Cancel, OrderID: c.OrderID, Ref: c.Ref, Quantity: units, InOrder: true, Revision: d.Revision, Reason: c.Reason}
	if d.Status == StatusCommitted {
		request.Verb, request.WriteOff = Return, c.WriteOff
	}
	p.SettlementPlan = PlanSettlement(Settlement{SKU: d.SKU, Requests: []SettleRequest{request}}, map[string]Deduction{c.OrderID: d}, nil, at, segments)
	p.After = p.Changed[0]
}

// planAddition plans more units of a line of an order in a state, as a merge, and counts them for its buyer, who holds so many in each count.
func (p *LinePlan) planAddition(
	r Revision, line RevisedLine, found FoundLine, held map[string]int64, status DeductionStatus, until, at time.Time,
) error {
	limited := p.Counted > 0 && held[p.CountedAt]+p.Counted > line.Limit
	switch {
	case p.more > 0 && line.Refusal != nil:
		return line.Refusal
	case limited && found.stale():
		return ErrStale
	case limited:
		return BuyerLimited(line.SKU, line.LimitGroup, r.Buyer(), line.Limit)
	case p.more > 0:
		if err := p.merge(r, line, found, status, until, at); err != nil {
			return err
		}
	}
	held[p.CountedAt] += p.Counted
	return nil
}

// merge plans more units of a line, whose buyer may have them.
func (p *LinePlan) merge(r Revision, line RevisedLine, found FoundLine, status DeductionStatus, until, at time.Time) error {
	order := Order{OrderID: r.Change.OrderID, BuyerID: r.Buyer(), Quantity: p.more, InOrder: true}
	if status == StatusReserved {
		order.ReserveFor = until.Sub(at)
	}
	p.Merge = line.Batch
	p.Merge.Segment, p.Merge.Orders, p.Merge.Limit, p.Merge.At = AllSegments, []Order{order}, 0, at
	plan, err := PlanBatch(p.Merge, found.Segments, Facts{At: at, Expired: found.Expired, HasExpired: found.HasExpired})
	if err == nil {
		err = p.Merge.refusalOfLine(plan.BatchResult)
	}
	if err != nil {
		return err
	}
	p.Taken, p.wasReturned = plan, found.There.Status == StatusReturned
	d, after := found.There, &p.After
	if status == StatusCommitted && d.Status == StatusCommitted {
		after.Committed = cmp.Or(d.Committed, d.Quantity)
	}
	before := d.Parts
	if d.held() == 0 {
		before = nil
	}
	if after.Status, after.Quantity = status, d.held()+p.more; status == StatusReserved {
		after.ExpiresAt = until
	}
	after.Parts = joinParts(before, plan.Parts[0])
	after.Merged = d.Merged || len(after.Parts) > 1
	return nil
}

// handsOver reports whether another buyer gets the order.
func (r Revision) handsOver() bool {
	return r.Change.NewBuyer != "" && r.Change.NewBuyer != r.Order.BuyerID
}

// joinParts returns parts that came one after the other as one list, ascending by segment.
func joinParts(before, after []Part) (all []Part) {
	all = slices.Clone(before)
	for _, part := range after {
		if at := slices.IndexFunc(all, func(p Part) bool { return p.Segment == part.Segment }); at >= 0 {
			all[at].Quantity += part.Quantity
		} else {
			all = append(all, part)
		}
	}
	slices.SortFunc(all, func(a, b Part) int { return a.Segment - b.Segment })
	return all
}

// Revised is what a change has done.
type Revised struct {
	Created bool       // now; otherwise it was done before
	Plans   []LinePlan // by line, if it was done now
}
