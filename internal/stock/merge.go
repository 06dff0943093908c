package stock

import (
	"cmp"
	"slices"
	"time"
)

// Merge is a number of orders for all segments of a SKU together. Fences holds a token for each segment that is
// locked; the others are guarded by their rows alone. No two orders have the same id.
type Merge struct {
	SKU        string
	Layout     int64 // [ErrLayout] if the SKU has another one
	Fences     map[int]Fence
	Limit      int64 // as in a [Batch]
	SaleWindow SaleWindow
	// Deadline and At are as in a [Batch].
	Deadline, At time.Time
	Orders       []Order
}

// MergeResult has an outcome for each order, and what each segment holds afterwards. Merged counts the orders
// that took from more than one segment.
type MergeResult struct {
	Outcomes []Outcome
	Segments []int64
	Merged   int
	At       time.Time // the instant of the decision
	Expired  int       // reservations whose units came back first
	// Stale is set if more reservations have expired than one transaction gives back: an order that is [Short] or [Limited]
	// may succeed once they are back.
	Stale      bool
	NextExpiry time.Time // the earliest expiry of a reservation that is live afterwards; zero: there is none
}

// topUpOrders is how many orders of the largest size a segment holds after a merge has topped it up.
const topUpOrders = 4

// MergePlan says how a merge is filled: an outcome for each order, the parts of the accepted ones, and by how
// much each segment changes. Stores carry it out under row locks.
type MergePlan struct {
	Admitted []int // indexes of the orders to insert
	Parts    map[int][]Part
	Changes  []int64 // per segment, may be zero
	Segments []int64 // per segment, what it holds afterwards
	Reserved []int64 // per segment, what reservations take from it
	Merged   int     // orders with more than one part
}

// ExpireLimit bounds the reservations whose units one transaction gives back: during it nothing of the SKU is sold, and
// every caller that wants units waits for it.
const ExpireLimit = 2000

// Plan decides a merge from the rows of all segments. They hold levels now, see [LevelsOf].
func (m Merge) Plan(segments []Segment, levels []int64, facts Facts) (plan MergePlan, result MergeResult, err error) {
	if len(segments) == 0 {
		return plan, result, UnknownSKU(m.SKU)
	}
	if err := refusal(m.Layout, func(i int) Fence { return m.Fences[i] }, 0, segments...); err != nil {
		return plan, result, err
	}
	result = MergeResult{
		Outcomes: make([]Outcome, len(m.Orders)), At: facts.At,
		Expired: facts.Expired, Stale: facts.Expired == ExpireLimit, NextExpiry: facts.NextExpiry,
	}
	plan = PlanMerge(levels, facts.demand(m.SKU, m.Orders, m.Limit, m.SaleWindow), result.Outcomes)
	result.Segments, result.Merged = plan.Segments, plan.Merged
	for _, i := range plan.Admitted {
		result.Outcomes[i] = AcceptedOutcome(m.SKU, m.Orders[i], facts.At)
		result.NextExpiry = Earlier(result.NextExpiry, result.Outcomes[i].Deduction.ExpiresAt)
	}
	return plan, result, nil
}

// PlanMerge fills orders from the segments, and arranges the rest so that the next buyers need no merge.
//
// An order is filled from the segments that hold the most, so that it gets as few parts as possible. If after
// that no segment could fill an order as large as the largest one accepted here, the fullest segment is topped up
// for a few orders of that size. At the end of a sale these are all units: a single segment sells the last ones
// without a storm of merges. In mid-sale the other segments keep units for the other buyers.
//
// Refused orders do not count as accepted here: one of more than all stock would empty all other segments in mid-sale.
func PlanMerge(segments []int64, demand Demand, outcomes []Outcome) MergePlan {
	left := slices.Clone(segments)
	plan := MergePlan{Segments: left, Reserved: make([]int64, len(segments)), Parts: make(map[int][]Part)}
	plan.Admitted = demand.Admit(Sum(segments), outcomes)
	var largest int64
	for _, i := range plan.Admitted {
		parts := TakeFromFullest(left, demand.Orders[i].Quantity)
		plan.Parts[i] = parts
		if len(parts) > 1 {
			plan.Merged++
		}
		largest = max(largest, demand.Orders[i].Quantity)
		if demand.Orders[i].ReserveFor > 0 {
			for _, part := range parts {
				plan.Reserved[part.Segment] += part.Quantity
			}
		}
	}
	if home := fullest(left); left[home] < largest {
		topUp(left, home, topUpOrders*largest)
	}
	plan.Changes = make([]int64, len(segments))
	for i := range segments {
		plan.Changes[i] = left[i] - segments[i]
	}
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
	sortParts(parts)
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

// topUp moves units into the home segment until it holds target or the others hold nothing. It takes from the emptiest
// first: units that stay elsewhere stay where they can be sold.
func topUp(left []int64, home int, target int64) {
	donors := make([]int, len(left))
	for i := range donors {
		donors[i] = i
	}
	slices.SortFunc(donors, func(a, b int) int { return cmp.Compare(left[a], left[b]) })
	for _, donor := range donors {
		if donor == home {
			continue
		}
		moved := min(left[donor], target-left[home])
		left[donor] -= moved
		left[home] += moved
	}
}
