package stock

import (
	"slices"
	"strings"
)

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
// limit. It sets the outcome of each order that does not fit, and of each that is known; the indexes of the others,
// ascending by order id, are for the caller to insert. candidates holds the indexes to consider, ascending by order id.
//
// The turn of an order is its place in the batch, not its id: ids must not buy a better place.
func (d Demand) Admit(candidates []int, available int64, outcomes []Outcome) (admitted []int) {
	turn := slices.Clone(candidates)
	slices.Sort(turn)
	fits := make(map[int]bool, len(turn))
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
			fits[i] = true
		}
	}
	for _, i := range candidates {
		if fits[i] {
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
