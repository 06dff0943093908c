package report

import (
	"math"
	"slices"

	"github.com/dustin/go-humanize"
)

const nearly = 1e-9 // what is so near to a tick is on it

// scale places values along an axis.
type scale struct {
	warp     func(float64) float64 // grows with the value; no number where a value has no place on the axis
	from, to float64               // the ends of the axis, warped
	ticks    []float64
}

// newScale is as long as its values.
func newScale(values []float64, warp func(float64) float64) scale {
	s := scale{warp: warp}
	if values = slices.DeleteFunc(slices.Clone(values), func(value float64) bool { return !s.has(value) }); len(values) > 0 {
		s.from, s.to = warp(slices.Min(values)), warp(slices.Max(values))
	}
	return s
}

// has reports whether a value has a place on the axis. NaN has none, nor has a value further from 0 than any figure.
func (s scale) has(value float64) bool { return math.Abs(s.warp(value)) <= mostTold }

// at is the place of a value between two ends.
func (s scale) at(value, from, to float64) float64 {
	return from + (s.warp(value)-s.from)/(s.to-s.from)*(to-from)
}

// ticked is the scale with equal steps, and the value of each.
func (s scale) ticked(step float64, value func(at float64) float64) scale {
	for i := math.Ceil(s.from/step - nearly); i <= s.to/step+nearly; i++ {
		if tick := value(i*step) + 0; s.has(tick) { // + 0: never -0
			s.ticks = append(s.ticks, tick)
		}
	}
	return s
}

// scale is that of the axis for some values. One that shows sizes begins at 0, and ends at a tick.
func (a Axis) scale(values []float64, sizes bool) scale {
	if a.Log {
		return logarithmic(values, sizes)
	}
	itself := func(value float64) float64 { return value }
	if sizes {
		values = append(slices.Clip(values), 0)
	}
	s := newScale(values, itself)
	if s.to-s.from <= nearly*max(nearly, math.Abs(s.from)) { // the ends are not one
		s.to = s.from + max(1, math.Abs(s.from)/10)
	}
	least := (s.to - s.from) / 6 // about as many steps
	n := math.Floor(3 * math.Log10(least))
	for round(n) < least*(1-nearly) {
		n++
	}
	if sizes {
		s.from, s.to = round(n)*math.Floor(s.from/round(n)+nearly), round(n)*math.Ceil(s.to/round(n)-nearly)
	}
	return s.ticked(round(n), itself)
}

// round is one of the round numbers …, 0.5, 1, 2, 5, 10, …, of which 1 is number 0.
func round(n float64) float64 {
	power := math.Floor(n / 3)
	return []float64{1, 2, 5}[int(n-3*power)] * math.Pow(10, power)
}

// logarithmic has no place for 0 and less, and goes from a power of ten to another. One that shows sizes begins below all of them,
// otherwise the least would have no size.
func logarithmic(values []float64, sizes bool) scale {
	s, inside, step := newScale(values, math.Log10), nearly, 1./3
	if sizes {
		inside = -nearly
	}
	s.from = math.Floor(s.from + inside)
	s.to = max(math.Ceil(s.to-nearly), s.from+1)
	if s.to-s.from > 3 {
		step = math.Ceil((s.to - s.from) / 10)
	}
	return s.ticked(step, func(at float64) float64 { return round(math.Round(3 * at)) })
}

// percentiles has equal steps from 0 to 90, to 99, to 99.9 and so on, as HdrHistogram's plots have: the tail matters most. There is
// no place for the 100th, which would be infinitely far.
func percentiles(values []float64) scale {
	far := func(percentile float64) float64 { return -math.Log10(1 - percentile/100) }
	return newScale(append(slices.Clip(values), 0, 90), far).ticked(1, func(at float64) float64 { return 100 - math.Pow(10, 2-at) })
}

// tickText has a number's digits but for what floating point adds behind the ninth place, and a letter for many zeros.
func tickText(value float64) string {
	letter := ""
	if math.Abs(value) >= 1e6 {
		value, letter = humanize.ComputeSI(value)
	}
	return humanize.Commaf(math.Round(value*1e9)/1e9) + letter
}
