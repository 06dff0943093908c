package stock

import (
	"slices"
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
	Admitted []int // indexes of the orders to insert
	Units    int64 // that they take from the segment
	Reserved int64 // of them, those that are reserved
}

// PlanBatch decides a batch from the row of its segment; the zero row means that there is none. No two orders have the same
// id: see [Batch.Once].
func PlanBatch(b Batch, row Segment, facts Facts) (plan BatchPlan, err error) {
	switch {
	case row.Layout != b.Layout:
		return plan, ErrLayout
	case !b.Fence.Passes(row.Fence):
		return plan, &FencedError{Tokens: map[int]int64{b.Segment: row.Fence.Token}}
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

// Replay changes the plan for an order that turned out to be there already, when it was inserted.
func (p *BatchPlan) Replay(i int, known Deduction) {
	d := p.Outcomes[i].Deduction
	p.Units -= d.Quantity
	p.Reserved -= d.reserved()
	p.Available += d.Quantity
	p.Outcomes[i] = Outcome{Kind: Known, Deduction: known}
}

// Once has a batch written without the orders whose id an earlier one has, and answers these from its outcome.
func (b Batch) Once(write func(Batch) (BatchResult, error)) (BatchResult, error) {
	unique, first := uniqueOf(b.Orders)
	b.Orders = unique
	result, err := write(b)
	if err != nil {
		return BatchResult{}, err
	}
	result.Outcomes = repeat(result.Outcomes, first)
	return result, nil
}
