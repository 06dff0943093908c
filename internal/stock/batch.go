package stock

import (
	"slices"
	"strings"
	"time"
)

// Facts are what a store has read to decide orders by, under the locks of a write.
type Facts struct {
	At         time.Time            // the instant of the decision
	Known      map[string]Deduction // the deductions that the order ids have already
	BuyerUnits map[string]int64     // what each buyer of the orders is counted with, where there is a limit
	// HasExpired, for a batch with a limit, says that reservations have expired whose units are not back.
	HasExpired bool
	// Expired, for a merge, is how many reservations gave their units back just now: [ExpireLimit] at most.
	Expired int
	// NextExpiry, for a merge, is the earliest expiry of the reservations that are live; zero: there is none.
	NextExpiry time.Time
}

// BatchPlan says how a batch is carried out.
type BatchPlan struct {
	BatchResult
	Admitted []int // indexes of the orders to insert, ascending by order id
	Units    int64 // that they take from the segment
	Reserved int64 // of them, those that are reserved
}

// PlanBatch decides a batch from the row of its segment; the zero row is one that is not there. first is of [Unique].
func PlanBatch(b Batch, first []int, row Segment, facts Facts) (plan BatchPlan, err error) {
	switch {
	case row.Layout != b.Layout:
		return plan, ErrLayout
	case !b.Fence.Passes(row.Fence):
		return plan, &FencedError{Tokens: map[int]int64{b.Segment: row.Fence.Token}}
	}
	plan.Outcomes, plan.At = make([]Outcome, len(b.Orders)), facts.At
	demand := facts.demand(b.SKU, b.Orders, b.Limit, b.SaleWindow)
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

func (f Facts) demand(sku string, orders []Order, limit int64, window SaleWindow) Demand {
	return Demand{
		Orders: orders, Known: f.Known, Closed: window.Refusal(sku, f.At) != nil, Limit: limit, Taken: f.BuyerUnits,
	}
}

// Unique splits a batch for a store: the indexes of the first order of each id, ascending by id, which is the
// order in which every transaction inserts, so that two of them never wait for each other; and for each later
// order with a used id the index of the first.
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

// Repeat fills in the outcomes of the repeats from those of the firsts: what was accepted a moment ago is known.
func Repeat(outcomes []Outcome, repeats map[int]int) {
	for i, first := range repeats {
		outcomes[i] = outcomes[first]
		if outcomes[i].Kind == Accepted {
			outcomes[i].Kind = Known
		}
	}
}

// Demand is what stores decide a batch by.
type Demand struct {
	Orders []Order
	// Known are the deductions that the order ids have already.
	Known map[string]Deduction
	// Closed says that the SKU is not sold at the instant of the decision.
	Closed bool
	Limit  int64            // per buyer; 0: none
	Taken  map[string]int64 // by each buyer of the orders, where there is a limit; it is kept up to date
}

// Admit goes through the orders in turn and takes each that still fits into the available units and into its buyer's
// limit. It sets the outcome of each order that does not fit, and of each that is known, and returns the indexes of the
// others. candidates holds the indexes to consider, ascending by order id, and so are those that it returns.
//
// The turn of an order is its place in the batch, not its id: ids must not buy a better place.
func (d Demand) Admit(candidates []int, available int64, outcomes []Outcome) (admitted []int) {
	turn := slices.Clone(candidates)
	slices.Sort(turn)
	for _, i := range turn {
		o := d.Orders[i]
		if known, ok := d.Known[o.OrderID]; ok {
			outcomes[i] = Outcome{Kind: Known, Deduction: known}
		} else if d.Closed {
			outcomes[i] = Outcome{Kind: Closed}
		} else if d.Limit > 0 && d.Taken[o.BuyerID]+o.Quantity > d.Limit {
			outcomes[i] = Outcome{Kind: Limited}
		} else if o.Quantity > available {
			outcomes[i] = Outcome{Kind: Short, Available: available}
		} else {
			available -= o.Quantity
			if d.Limit > 0 {
				d.Taken[o.BuyerID] += o.Quantity
			}
		}
	}
	for _, i := range candidates {
		if outcomes[i].Kind == 0 {
			admitted = append(admitted, i)
		}
	}
	return admitted
}

// BuyersOf returns the buyers of orders, ascending, each once.
func BuyersOf(orders []Order, indexes []int) []string {
	var buyers []string
	for _, i := range indexes {
		if id := orders[i].BuyerID; id != "" {
			buyers = append(buyers, id)
		}
	}
	slices.Sort(buyers)
	return slices.Compact(buyers)
}

// IDsOf returns the ids of orders.
func IDsOf(orders []Order, indexes []int) []string {
	ids := make([]string, len(indexes))
	for n, i := range indexes {
		ids[n] = orders[i].OrderID
	}
	return ids
}
