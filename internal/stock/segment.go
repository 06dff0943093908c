package stock

// Segment is the row of a segment as a store finds it, under its lock.
type Segment struct {
	Available int64
	Reserved  int64 // what reservations have taken from it, including what was committed since
	Layout    int64
	Version   int64 // grows with every write
	Fence     Fence // the newest that has written
}

// ArchivedLayout is the layout of the segments of a SKU that is archived. No seller uses it, so the rows refuse every write
// that takes units. A write that gives units back does not check the layout.
const ArchivedLayout = -1

// LevelsOf returns what each segment holds, with the units that have come back to it: see [Store.Expire].
func LevelsOf(segments []Segment, back map[int]int64) []int64 {
	levels := make([]int64, len(segments))
	for i, row := range segments {
		levels[i] = row.Available + back[i]
	}
	return levels
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
