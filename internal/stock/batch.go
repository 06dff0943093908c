package stock

import (
	"slices"
	"strings"
	"time"
)

// Batch is a number of orders for one segment under one fencing token. A later order with the id of an earlier
// one is answered from the earlier one's outcome.
//
// Where the SKU has a buyer limit, no buyer may have two orders in it.
type Batch struct {
	SKU        string
	Layout     int64 // [ErrLayout] if the SKU has another one
	Segment    int
	Fence      Fence
	Limit      int64 // per buyer; 0: none
	SaleWindow SaleWindow
	// Deadline is the instant of this process after which nothing may be written; zero: only that of the context.
	Deadline time.Time
	At       time.Time // zero: the store's clock
	Orders   []Order
	// InTurn says that no order is taken after one that is short: it is short too. Else those that came later could take units
	// that the one before them gets from other segments.
	InTurn bool
	// ExpectKnown says that some of the orders are likely to be known. It only makes the store faster.
	ExpectKnown bool
}

// BatchResult has an outcome for each order of the batch, and what the segment holds afterwards.
type BatchResult struct {
	Outcomes  []Outcome
	Available int64
	At        time.Time // the instant by which it was decided
	// Stale is set where an outcome is Limited although reservations of the SKU have expired whose units are not back:
	// they may be the buyer's.
	Stale bool
	// Skipped is set where another transaction held the segment's row when the batch was first tried.
	Skipped bool
}

// BatchPlan says how a batch is carried out.
type BatchPlan struct {
	BatchResult
	Admitted []int // indexes of the orders to insert, ascending by order id
	Units    int64 // that they take from the segment
	Reserved int64 // of them, those that are reserved
}

// PlanBatch decides a batch from the row of its segment; the zero row means that there is none. first comes from
// [Unique].
func PlanBatch(b Batch, first []int, row Segment, facts Facts) (plan BatchPlan, err error) {
	switch {
	case row.Layout != b.Layout:
		return plan, ErrLayout
	case !b.Fence.Passes(row.Fence):
		return plan, &FencedError{Tokens: map[int]int64{b.Segment: row.Fence.Token}}
	}
	plan.Outcomes, plan.At = make([]Outcome, len(b.Orders)), facts.At
	demand := facts.demand(b.SKU, b.Orders, b.Limit, b.SaleWindow)
	demand.InTurn = b.InTurn
	plan.Admitted = demand.Admit(first, row.Available, plan.Outcomes)
	for _, i := range plan.Admitted {
		plan.Outcomes[i] = AcceptedOutcome(b.SKU, b.Orders[i], facts.At)
		plan.Units += b.Orders[i].Quantity
		plan.Reserved += plan.Outcomes[i].Deduction.reserved()
	}
	plan.Available = row.Available - plan.Units
	plan.Stale = facts.HasExpired && slices.ContainsFunc(plan.Outcomes, func(o Outcome) bool { return o.Kind == Limited })
	return plan, nil
}

// Replay changes the plan for an order that turned out to be there already, when it was inserted.
func (p *BatchPlan) Replay(i int, known Deduction) {
	d := p.Outcomes[i].Deduction
	p.Units -= d.Quantity
	p.Reserved -= d.reserved()
	p.Available += d.Quantity
	p.Outcomes[i] = Outcome{Kind: Known, Deduction: known}
}

// Unique splits a batch for a store. first has the index of the first order of each id, ascending by id: every
// transaction inserts in that order, so that two of them never wait for each other. repeats has, for each later order
// with such an id, the index of the first.
func Unique(orders []Order) (first []int, repeats map[int]int) {
	first = make([]int, len(orders))
	for i := range first {
		first[i] = i
	}
	// Stable, so that of two equal ids the earlier stays first.
	slices.SortStableFunc(first, func(a, b int) int { return strings.Compare(orders[a].OrderID, orders[b].OrderID) })
	kept := first[:0]
	for _, i := range first {
		if n := len(kept); n > 0 && orders[kept[n-1]].OrderID == orders[i].OrderID {
			if repeats == nil {
				repeats = make(map[int]int)
			}
			repeats[i] = kept[n-1]
			continue
		}
		kept = append(kept, i)
	}
	return kept, repeats
}

// Repeat copies the outcome of the first order of an id to its repeats: what was accepted a moment ago is known.
func Repeat(outcomes []Outcome, repeats map[int]int) {
	for i, first := range repeats {
		outcomes[i] = outcomes[first]
		if outcomes[i].Kind == Accepted {
			outcomes[i].Kind = Known
		}
	}
}
