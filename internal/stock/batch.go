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
	Held      bool  // by another transaction: not locked, and read as it was last committed
}

// ArchivedLayout is the layout of the segments of a SKU that is archived. No seller uses it, so the rows refuse every write
// that takes units. A write that gives units back does not check the layout.
const ArchivedLayout = -1

// levelsOf returns what can be taken from each segment.
func levelsOf(segments []Segment) []int64 {
	return Column(segments, func(row Segment) int64 {
		if row.Held {
			return 0
		}
		return row.Available
	})
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

// AllSegments stands for all segments of a SKU together, in place of the number of one.
const AllSegments = -1

// Batch is a number of orders for one segment, or for all segments together, which is a merge. No two of them have the same id. If
// the SKU has a buyer limit, no two of a batch for one segment are of the same buyer.
type Batch struct {
	SKU        string
	Layout     int64 // [ErrLayout] if the SKU has another one
	Segment    int
	Fence      Fence         // of the segment
	Fences     map[int]Fence // for a merge: of each segment that is locked; the others are guarded by their rows alone
	Limit      int64         // units that one buyer may hold; 0: any number
	LimitGroup string        // a group of SKUs over which the limit counts; "": the SKU alone
	SaleWindow SaleWindow
	// Deadline is the instant of this process' clock after which nothing may be written; zero: only the context has one.
	Deadline time.Time
	// RowWait is how long a row is waited for that another transaction holds; 0: until the deadline. Then the error is [ErrHeld].
	RowWait time.Duration
	At      time.Time // zero: the store's clock
	Orders  []Order
	// InTurn says that no order is accepted after a short one: it is short too. Otherwise later orders could take units
	// that an earlier one gets from other segments.
	InTurn bool
}

// CountedAt names the count of the buyers.
func (b Batch) CountedAt() string { return CountOf(b.SKU, b.LimitGroup) }

// Units returns how many units the orders ask for.
func (b Batch) Units() (units int64) {
	for _, o := range b.Orders {
		units += o.Quantity
	}
	return units
}

// Row returns which segment the batch's row of an index is, and its fence.
func (b Batch) Row(i int) (segment int, fence Fence) {
	if b.Segment == AllSegments {
		return i, b.Fences[i]
	}
	return b.Segment, b.Fence
}

// refusal compares the batch's rows with the layout and the fences that it knows.
func (b Batch) refusal(rows []Segment) error {
	refused := make(map[int]int64)
	for i, row := range rows {
		if row.Layout != b.Layout {
			return ErrLayout
		}
		if row.Held {
			continue
		}
		if segment, fence := b.Row(i); !fence.Passes(row.Fence) {
			refused[segment] = row.Fence.Token
		}
	}
	if len(refused) > 0 {
		return &FencedError{Tokens: refused}
	}
	return nil
}

// BatchResult has an outcome for each order of the batch, and what is left afterwards.
type BatchResult struct {
	Outcomes  []Outcome
	Available int64     // what the segment holds, or all of them together
	Segments  []int64   // after a merge: what each segment holds
	Held      []int     // segments that a merge has left out
	At        time.Time // the instant of the decision
	Merged    int       // orders that took from more than one segment
	Expired   int       // reservations whose units came back first, for a merge
	// Stale is set if an order that is [Short] or [Limited] may succeed once the units of expired reservations are back: a batch for
	// one segment gives none back, and a merge no more than [ExpireLimit].
	Stale bool
	// Skipped is set if another transaction held the segment's row when the batch was first tried.
	Skipped    bool
	NextExpiry time.Time // after a merge that leaves nothing: the earliest expiry of a reservation that is live; zero: there is none
}

// BatchPlan says how a batch is carried out. Stores do so under the locks of its rows.
type BatchPlan struct {
	BatchResult
	Admitted []int    // indexes of the orders to insert
	Parts    [][]Part // what each of these orders takes, by the same indexes
	Changes  []int64  // of what each row holds, may be zero
	Reserved []int64  // what reservations take from each row
}

// PlanBatch decides a batch from its rows: the one of its segment, or for a merge those of all segments.
func PlanBatch(b Batch, rows []Segment, facts Facts) (plan BatchPlan, err error) {
	if err := b.refusal(rows); err != nil {
		return plan, err
	}
	plan = b.fill(levelsOf(rows), facts)
	plan.At, plan.Expired, plan.NextExpiry = facts.At, facts.Expired, facts.NextExpiry
	b.leaveOpen(&plan, rows)
	for _, i := range plan.Admitted {
		plan.Outcomes[i] = AcceptedOutcome(b.SKU, b.Orders[i], facts.At)
		plan.NextExpiry = Earlier(plan.NextExpiry, plan.Outcomes[i].Deduction.ExpiresAt)
	}
	if plan.Available > 0 {
		plan.NextExpiry = time.Time{}
	}
	limited := slices.ContainsFunc(plan.Outcomes, func(o Outcome) bool { return o.Kind == Limited })
	plan.Stale = facts.Expired == ExpireLimit || facts.HasExpired && (limited || b.Segment == AllSegments)
	return plan, nil
}

// leaveOpen says of each order that is short whether a row that was left out could have filled it, alone or with others, or
// reservations could that have expired: their units come back only to rows that are locked.
func (b Batch) leaveOpen(plan *BatchPlan, rows []Segment) {
	held := int64(0)
	for i, row := range rows {
		if row.Held {
			plan.Held = append(plan.Held, i)
			plan.Segments[i] = row.Available
			held += row.Available
		}
	}
	if plan.Held == nil {
		return
	}
	due := !plan.NextExpiry.IsZero() && !plan.At.Before(plan.NextExpiry)
	for i := range plan.Outcomes {
		o := &plan.Outcomes[i]
		if due && (o.Kind == Short || o.Kind == Limited) || o.Kind == Short && o.Available+held >= b.Orders[i].Quantity {
			o.Kind = Open
		}
	}
}

// Facts are what a store has read, under the locks of a write, to decide orders from.
type Facts struct {
	At         time.Time            // the instant of the decision
	Known      map[string]Deduction // the deductions that the order ids have already
	BuyerUnits map[string]int64     // how many units each buyer of the orders is counted with, if there is a limit
	// HasExpired, for a batch with a limit and for a merge with that of a group, says that reservations have expired whose units are not
	// back.
	HasExpired bool
	// Expired, for a merge, is how many reservations gave their units back just now: [ExpireLimit] at most.
	Expired int
	// NextExpiry, for a merge, is the earliest expiry of the reservations that are live; zero: there is none. If there are more units
	// than the batch wants, it may be zero unless it has passed.
	NextExpiry time.Time
}

// admit goes through the orders in turn and takes each that still fits into the available units and into its buyer's
// limit. It sets the outcome of each order that does not fit, and of each that is known, and returns the indexes of the
// others. It adds what buyers take to the facts.
//
// The turn of an order is its place in the batch, not its id: ids must not buy a better place.
func (b Batch) admit(available int64, facts Facts, outcomes []Outcome) (admitted []int) {
	closed := b.SaleWindow.Refusal(b.SKU, facts.At) != nil
	over := false // for the orders that follow
	for i, o := range b.Orders {
		if known, ok := facts.Known[o.OrderID]; ok {
			outcomes[i] = Outcome{Kind: Known, Deduction: known}
		} else if closed {
			outcomes[i] = Outcome{Kind: Closed}
		} else if b.Limit > 0 && facts.BuyerUnits[o.BuyerID]+o.Quantity > b.Limit {
			outcomes[i] = Outcome{Kind: Limited}
		} else if over || o.Quantity > available {
			over = b.InTurn
			outcomes[i] = Outcome{Kind: Short, Available: available}
		} else {
			admitted = append(admitted, i)
			available -= o.Quantity
			if b.Limit > 0 {
				facts.BuyerUnits[o.BuyerID] += o.Quantity
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
	Open                            // what another transaction holds could fill it: it is not decided
)

// Outcome is what became of one order of a batch.
type Outcome struct {
	Kind      OutcomeKind
	Deduction Deduction // for Accepted and Known
	Available int64     // for Short: how much was left
}

// AcceptedOutcome is the outcome of an order that was taken from sku at an instant.
func AcceptedOutcome(sku string, o Order, at time.Time) Outcome {
	d := Deduction{SKU: sku, Order: o.kept(), Quantity: o.Quantity, Status: StatusCommitted, CreatedAt: at, CommittedAt: at}
	if o.ReserveFor > 0 {
		d.Status, d.ExpiresAt, d.CommittedAt = StatusReserved, at.Add(o.ReserveFor), time.Time{}
	}
	return Outcome{Kind: Accepted, Deduction: d}
}
