package stock

import "slices"

// topUpOrders is how many orders of the largest size a segment holds after a merge has topped it up.
const topUpOrders = 4

// ExpireLimit bounds the reservations whose units one transaction gives back: during it nothing of the SKU is sold, and
// every caller that wants units waits for it.
const ExpireLimit = 2000

// fill takes orders from rows that hold levels, and arranges the rest so that the next buyers need no merge.
//
// An order is filled from the segments that hold the most, so that it gets as few parts as possible. If after
// that no segment could fill an order as large as the largest one accepted here, the fullest segment is topped up
// for a few orders of that size. At the end of a sale these are all units: a single segment sells the last ones
// without a storm of merges. In mid-sale the other segments keep units for the other buyers.
//
// Refused orders do not count as accepted here: one of more than all stock would empty all other segments in mid-sale.
func (b Batch) fill(levels []int64, facts Facts) (plan BatchPlan) {
	left := slices.Clone(levels)
	plan.Segments, plan.Changes, plan.Reserved = left, make([]int64, len(levels)), make([]int64, len(levels))
	plan.Outcomes, plan.Parts = make([]Outcome, len(b.Orders)), make([][]Part, len(b.Orders))
	plan.Admitted = b.admit(Sum(levels), facts, plan.Outcomes)
	var largest int64
	for _, i := range plan.Admitted {
		parts := TakeFromFullest(left, b.Orders[i].Quantity)
		if len(parts) > 1 {
			plan.Merged++
		}
		largest = max(largest, b.Orders[i].Quantity)
		for n, part := range parts {
			if b.Orders[i].ReserveFor > 0 {
				plan.Reserved[part.Segment] += part.Quantity
			}
			parts[n].Segment, _ = b.Row(part.Segment)
		}
		plan.Parts[i] = parts
	}
	if home := fullest(left); left[home] < largest {
		topUp(left, home, topUpOrders*largest)
	}
	for i := range levels {
		plan.Changes[i] = left[i] - levels[i]
	}
	plan.Available = Sum(left)
	return plan
}

// TakeFromFullest lowers left by quantity, which the caller knows to be there, and returns the parts ascending
// by segment.
func TakeFromFullest(left []int64, quantity int64) []Part {
	var parts []Part
	for quantity > 0 {
		segment := fullest(left)
		taken := min(quantity, left[segment])
		left[segment] -= taken
		quantity -= taken
		parts = append(parts, Part{Segment: segment, Quantity: taken})
	}
	slices.SortFunc(parts, func(a, b Part) int { return a.Segment - b.Segment })
	return parts
}

func fullest(left []int64) int {
	best := 0
	for i, available := range left {
		if available > left[best] {
			best = i
		}
	}
	return best
}

// topUp moves units into the home segment until it holds target or the others hold nothing. It empties one after another: units that stay
// elsewhere stay where they can be sold.
func topUp(left []int64, home int, target int64) {
	for donor := range left {
		if donor != home {
			moved := min(left[donor], target-left[home])
			left[donor] -= moved
			left[home] += moved
		}
	}
}
