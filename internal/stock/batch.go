package stock

import (
	"slices"
	"time"
)

// Batch is a number of orders for one segment under one fencing token. A later order with the id of an earlier
// one is answered from the earlier one's outcome.
//
// If the SKU has a buyer limit, no buyer may have two orders in the batch.
type Batch struct {
	SKU        string
	Layout     int64 // [ErrLayout] if the SKU has another one
	Segment    int
	Fence      Fence
	Limit      int64 // per buyer; 0: none
	SaleWindow SaleWindow
	// Deadline is the instant of this process' clock after which nothing may be written; zero: only the context has one.
	Deadline time.Time
	At       time.Time // zero: the store's clock
	Orders   []Order
	// InTurn says that no order is accepted after a short one: it is short too. Otherwise later orders could take units
	// that an earlier one gets from other segments.
	InTurn bool
	// ExpectKnown says that some of the orders are likely to be known. It only makes the store faster.
	ExpectKnown bool
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

// Replay changes the plan for an order whose insert has found it there already.
func (p *BatchPlan) Replay(i int, known Deduction) {
	d := p.Outcomes[i].Deduction
	p.Units -= d.Quantity
	p.Reserved -= d.reserved()
	p.Available += d.Quantity
	p.Outcomes[i] = Outcome{Kind: Known, Deduction: known}
}

// Once writes a batch without the orders that repeat the id of an earlier one, and answers them from its outcome.
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
