package stock

import (
	"maps"
	"slices"
)

// Returns are units on their way back.
type Returns struct {
	Segments map[int]int64    // per segment of today's layout
	Reserved map[int]int64    // of these, the units that were reserved and not committed yet
	Buyers   map[string]int64 // per buyer
}

func newReturns() Returns {
	return Returns{Segments: make(map[int]int64), Reserved: make(map[int]int64), Buyers: make(map[string]int64)}
}

// Units returns how many come back.
func (r Returns) Units() (units int64) {
	for _, n := range r.Segments {
		units += n
	}
	return units
}

// add returns parts of a deduction to the segments that gave them. If the layout has changed since, and such a segment
// is gone, another one gets its part.
func (r Returns) add(d Deduction, parts []Part, segments int) {
	for _, p := range parts {
		r.Segments[p.Segment%segments] += p.Quantity
		if d.Status == StatusReserved {
			r.Reserved[p.Segment%segments] += p.Quantity
		}
		if d.BuyerID != "" {
			r.Buyers[d.BuyerID] += p.Quantity
		}
	}
}

// Ascending returns the segments and the buyers of returns in the order in which their rows are locked.
func (r Returns) Ascending() (segments []int, buyers []string) {
	return slices.Sorted(maps.Keys(r.Segments)), slices.Sorted(maps.Keys(r.Buyers))
}

// PlanExpiry returns what goes back from reservations that have expired. They must have their parts.
func PlanExpiry(expired []Deduction, segments int) Returns {
	back := newReturns()
	for _, d := range expired {
		back.add(d, d.Parts, segments)
	}
	return back
}
