package flashsale

import (
	"cmp"
	"slices"
	"time"

	"inventory/loadtest/internal/openloop"
)

// falsely bounds how many refusals for want of stock were false.
type falsely struct {
	Least int `json:"least"`
	Most  int `json:"most"`
}

// taking is units that were taken at a time.
type taking struct {
	at    time.Duration
	units int64 // and those of all later ones, once summed
}

// suffixes sorts takings, and sums up from each to the last.
func suffixes(all []taking) []taking {
	slices.SortFunc(all, func(a, b taking) int { return cmp.Compare(a.at, b.at) })
	var sum int64
	for i := len(all) - 1; i >= 0; i-- {
		sum += all[i].units
		all[i].units = sum
	}
	return all
}

// after is the sum of what was taken after a time.
func after(all []taking, at time.Duration) int64 {
	i, _ := slices.BinarySearchFunc(all, at+1, func(t taking, at time.Duration) int { return cmp.Compare(t.at, at) })
	if i == len(all) {
		return 0
	}
	return all[i].units
}

// falseRefusals bounds the refusals that came although there was enough, by what was taken after them for certain and
// perhaps, and by what nobody has got in the end. See the package's comment.
func (r *round) falseRefusals(fates []fate, left int64) (f falsely) {
	var earliest, latest []taking
	for _, order := range fates {
		if order.hasRow {
			earliest = append(earliest, taking{order.earliest, order.units})
			latest = append(latest, taking{order.heard, order.units})
		}
	}
	earliest, latest = suffixes(earliest), suffixes(latest)
	for i, reply := range r.result.Replies {
		asked := r.orders.Quantity(i)
		switch reply.Outcome {
		case openloop.SoldOut:
			asked = 1
		case openloop.InsufficientStock:
		default:
			continue
		}
		if after(earliest, reply.Over)+left >= asked {
			f.Least++
		}
		if after(latest, reply.Over)+left >= asked {
			f.Most++
		}
	}
	return f
}

// stranded are the units left if some refused order had asked for no more than that, else 0.
func (r *round) stranded(left int64) int64 {
	for i, reply := range r.result.Replies {
		short := reply.Outcome == openloop.SoldOut || reply.Outcome == openloop.InsufficientStock
		if short && r.orders.Quantity(i) <= left {
			return left
		}
	}
	return 0
}
