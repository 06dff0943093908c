package stock

import (
	"slices"
	"time"
)

// Segment is the row of a segment as a store finds it, under its lock.
type Segment struct {
	Available int64
	Reserved  int64 // what reservations have taken from it, including what was committed since
	Layout    int64
	Version   int64 // grows with every write
	Fence     Fence // the newest that has written
}

// ArchivedLayout is the layout of the segments of a SKU that is archived. No seller uses it, so the rows refuse every write
// that takes units. A write that gives units back does not check the layout.
const ArchivedLayout = -1

// LevelsOf returns what each segment holds, with the units that have come back to it: see [Store.Expire].
func LevelsOf(segments []Segment, back map[int]int64) []int64 {
	levels := make([]int64, len(segments))
	for i, row := range segments {
		levels[i] = row.Available + back[i]
	}
	return levels
}

// Spread divides units over n segments as evenly as possible. The first ones get the odd units.
func Spread(units int64, n int) []int64 {
	out := make([]int64, n)
	each, odd := units/int64(n), units%int64(n)
	for i := range out {
		out[i] = each
		if int64(i) < odd {
			out[i]++
		}
	}
	return out
}

// Sum returns how many units segments hold together.
func Sum(levels []int64) (sum int64) {
	for _, level := range levels {
		sum += level
	}
	return sum
}

// Fence is the proof of a lock: its fencing token, and its owner, which distinguishes equal tokens: two masters can issue
// such tokens around a failover. The zero Fence is a write without a lock: it checks no token and leaves the row's.
type Fence struct {
	Token int64
	Owner string
}

// Passes reports whether a segment's row, whose newest fence is row, accepts a write with f.
func (f Fence) Passes(row Fence) bool {
	return f.Token == 0 || row.Token < f.Token || row == f
}

// refusal compares rows of segments, from number first on, with the layout and the fences that a writer knows.
func refusal(layout int64, fence func(segment int) Fence, first int, rows ...Segment) error {
	refused := make(map[int]int64)
	for i, row := range rows {
		if row.Layout != layout {
			return ErrLayout
		}
		if !fence(first + i).Passes(row.Fence) {
			refused[first+i] = row.Fence.Token
		}
	}
	if len(refused) > 0 {
		return &FencedError{Tokens: refused}
	}
	return nil
}

// Batch is a number of orders for one segment under one fencing token. No two of them have the same id. If the SKU has a buyer
// limit, no two are of the same buyer.
type Batch struct {
	SKU        string
	Layout     int64 // [ErrLayout] if the SKU has another one
	Segment    int
	Fence      Fence
	Limit      int64 // units that one buyer may hold; 0: any number
	SaleWindow SaleWindow
	// Deadline is the instant of this process' clock after which nothing may be written; zero: only the context has one.
	Deadline time.Time
	At       time.Time // zero: the store's clock
	Orders   []Order
	// InTurn says that no order is accepted after a short one: it is short too. Otherwise later orders could take units
	// that an earlier one gets from other segments.
	InTurn bool
}

// Units returns how many units the orders ask for.
func (b Batch) Units() (units int64) {
	for _, o := range b.Orders {
		units += o.Quantity
	}
	return units
}

// BatchResult has an outcome for each order of the batch, and what the segment holds afterwards.
type BatchResult struct {
	Outcomes  []Outcome
	Available int64
	At        time.Time // the instant of the decision
	// Stale is set if an outcome is Limited while units of expired reservations of the SKU are not back yet: they may be
	// the buyer's.
	Stale bool
	// Skipped is set if another transaction held the segment's row when the batch was first tried.
	Skipped bool
}

// BatchPlan says how a batch is carried out.
type BatchPlan struct {
	BatchResult
	Admitted []int // indexes of the orders to insert
	Units    int64 // that these orders take from the segment
	Reserved int64 // of Units, those that are reserved
}

// PlanBatch decides a batch from the row of its segment; the zero row means that there is none.
func PlanBatch(b Batch, row Segment, facts Facts) (plan BatchPlan, err error) {
	if err := refusal(b.Layout, func(int) Fence { return b.Fence }, b.Segment, row); err != nil {
		return plan, err
	}
	plan.Outcomes, plan.At = make([]Outcome, len(b.Orders)), facts.At
	demand := facts.demand(b.SKU, b.Orders, b.Limit, b.SaleWindow)
	demand.InTurn = b.InTurn
	plan.Admitted = demand.Admit(row.Available, plan.Outcomes)
	for _, i := range plan.Admitted {
		plan.Outcomes[i] = AcceptedOutcome(b.SKU, b.Orders[i], facts.At)
		plan.Units += b.Orders[i].Quantity
		plan.Reserved += plan.Outcomes[i].Deduction.reserved()
	}
	plan.Available = row.Available - plan.Units
	plan.Stale = facts.HasExpired && slices.ContainsFunc(plan.Outcomes, func(o Outcome) bool { return o.Kind == Limited })
	return plan, nil
}

// Replay changes the plan for an order whose insert has found it there already.
func (p *BatchPlan) Replay(i int, known Deduction) {
	d := p.Outcomes[i].Deduction
	p.Units -= d.Quantity
	p.Reserved -= d.reserved()
	p.Available += d.Quantity
	p.Outcomes[i] = Outcome{Kind: Known, Deduction: known}
}

// Facts are what a store has read, under the locks of a write, to decide orders from.
type Facts struct {
	At         time.Time            // the instant of the decision
	Known      map[string]Deduction // the deductions that the order ids have already
	BuyerUnits map[string]int64     // how many units each buyer of the orders is counted with, if there is a limit
	// HasExpired, for a batch with a limit, says that reservations have expired whose units are not back.
	HasExpired bool
	// Expired, for a merge, is how many reservations gave their units back just now: [ExpireLimit] at most.
	Expired int
	// NextExpiry, for a merge, is the earliest expiry of the reservations that are live; zero: there is none.
	NextExpiry time.Time
}

// Demand is what stores decide a batch from.
type Demand struct {
	Orders []Order
	// Known are the deductions that the order ids have already.
	Known map[string]Deduction
	// Closed says that the SKU is not sold at the instant of the decision.
	Closed bool
	Limit  int64            // per buyer; 0: none
	Taken  map[string]int64 // units of each buyer of the orders, if there is a limit; Admit keeps it up to date
	InTurn bool             // no order fits after one that does not
}

func (f Facts) demand(sku string, orders []Order, limit int64, window SaleWindow) Demand {
	return Demand{
		Orders: orders, Known: f.Known, Closed: window.Refusal(sku, f.At) != nil, Limit: limit, Taken: f.BuyerUnits,
	}
}

// Admit goes through the orders in turn and takes each that still fits into the available units and into its buyer's
// limit. It sets the outcome of each order that does not fit, and of each that is known, and returns the indexes of the
// others.
//
// The turn of an order is its place in the batch, not its id: ids must not buy a better place.
func (d Demand) Admit(available int64, outcomes []Outcome) (admitted []int) {
	over := false // for the orders that follow
	for i, o := range d.Orders {
		if known, ok := d.Known[o.OrderID]; ok {
			outcomes[i] = Outcome{Kind: Known, Deduction: known}
		} else if d.Closed {
			outcomes[i] = Outcome{Kind: Closed}
		} else if d.Limit > 0 && d.Taken[o.BuyerID]+o.Quantity > d.Limit {
			outcomes[i] = Outcome{Kind: Limited}
		} else if over || o.Quantity > available {
			over = d.InTurn
			outcomes[i] = Outcome{Kind: Short, Available: available}
		} else {
			admitted = append(admitted, i)
			available -= o.Quantity
			if d.Limit > 0 {
				d.Taken[o.BuyerID] += o.Quantity
			}
		}
	}
	return admitted
}

// OutcomeKind says what became of an order.
type OutcomeKind uint8

// The kinds of outcomes.
const (
	Accepted OutcomeKind = iota + 1 // stock was taken now
	Known                           // the order id was there before; Deduction is what it has
	Short                           // not enough stock; Available says how much was left when its turn came
	Limited                         // its buyer would hold more than the limit
	Closed                          // the SKU is not sold at that instant
)

// Outcome is what became of one order of a batch.
type Outcome struct {
	Kind      OutcomeKind
	Deduction Deduction // for Accepted and Known
	Available int64     // for Short: how much was left
}

// AcceptedOutcome is the outcome of an order that was taken from sku at an instant.
func AcceptedOutcome(sku string, o Order, at time.Time) Outcome {
	d := Deduction{SKU: sku, Order: o.kept(), Quantity: o.Quantity, Status: StatusCommitted}
	if o.ReserveFor > 0 {
		d.Status, d.ExpiresAt = StatusReserved, at.Add(o.ReserveFor)
	}
	return Outcome{Kind: Accepted, Deduction: d}
}
