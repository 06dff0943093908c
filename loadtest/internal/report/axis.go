package report

import (
	"math"
	"strconv"

	"github.com/dustin/go-humanize"
)

const (
	leastDrawn = 1e-15 // what differs by less, or is nearer to 0 on a logarithmic axis, no axis tells apart
	steps      = 6     // of a linear axis, about
	nines      = 8     // how far a percentile axis goes: 99.999999
)

// scale places values along an axis.
type scale struct {
	warp     func(float64) float64 // grows with the value; not finite where a value has no place on the axis
	from, to float64               // the ends of the axis, warped
	ticks    []float64
}

// has tells whether a value has a place on the axis.
func (s scale) has(value float64) bool { return drawable(s.warp(value)) }

// at is the place of a value between two ends of the paper.
func (s scale) at(value, from, to float64) float64 {
	return from + (s.warp(value)-s.from)/(s.to-s.from)*(to-from)
}

// drawable tells numbers from the rest: what is further from 0 than any figure is left out, as NaN is.
func drawable(value float64) bool { return math.Abs(value) <= mostTold }

// bounds are the least and the greatest place that values have on an axis, or 0 and 1 if none has one.
func bounds(values []float64, warp func(float64) float64) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, value := range values {
		if at := warp(value); drawable(at) {
			least, most = min(least, at), max(most, at)
		}
	}
	if least > most {
		return 0, 1
	}
	return least, most
}

// linear is as long as its values; one that shows sizes begins at 0, and ends at a tick.
func linear(values []float64, sizes bool) scale {
	warp := func(value float64) float64 {
		if !drawable(value) {
			return math.NaN()
		}
		return value
	}
	least, most := bounds(values, warp)
	if sizes {
		least, most = min(least, 0), max(most, 0)
	}
	if most-least <= max(leastDrawn, 1e-9*max(math.Abs(least), math.Abs(most))) { // the ends are not one
		most = least + max(1, math.Abs(least)/10)
	}
	step := roundStep((most - least) / steps)
	first, last := math.Ceil(least/step-1e-9), math.Floor(most/step+1e-9)
	if sizes {
		first, last = math.Floor(least/step+1e-9), math.Ceil(most/step-1e-9)
		least, most = first*step, last*step
	}
	s := scale{warp: warp, from: least, to: most}
	for i := range int(last-first) + 1 {
		s.ticks = append(s.ticks, (first+float64(i))*step)
	}
	return s
}

// roundStep is the least of 1, 2 and 5 times a power of ten that is no smaller.
func roundStep(step float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, round := range []float64{1, 2, 5} {
		if round*power >= step*(1-1e-9) {
			return round * power
		}
	}
	return 10 * power
}

// logarithmic has no place for 0 and less, and goes from a power of ten to another. One that shows sizes has one below all of
// them, or else the least would have no size.
func logarithmic(values []float64, sizes bool) scale {
	warp := func(value float64) float64 {
		if value < leastDrawn || !drawable(value) {
			return math.NaN()
		}
		return math.Log10(value)
	}
	least, most := bounds(values, warp)
	first, last := math.Floor(least+1e-9), math.Ceil(most-1e-9)
	if sizes {
		first = math.Ceil(least) - 1
	}
	last = max(last, first+1)
	s := scale{warp: warp, from: first, to: last}
	between := []float64{1}
	if last-first <= 3 {
		between = []float64{1, 2, 5}
	}
	for power := first; power <= last; power += math.Ceil((last - first) / 10) {
		for _, n := range between {
			if value := n * math.Pow(10, power); warp(value) <= last+1e-9 {
				s.ticks = append(s.ticks, value)
			}
		}
	}
	return s
}

// percentiles has equal steps from 0 to 90, to 99, to 99.9 and so on, as HdrHistogram's plots have: the tail is what
// one looks for. There is no place for the 100th, which would be endlessly far.
func percentiles(values []float64) scale {
	warp := func(percentile float64) float64 {
		at := -math.Log10(1 - percentile/100)
		if percentile < 0 || at > nines+1e-9 {
			return math.NaN()
		}
		return at
	}
	_, most := bounds(values, warp)
	s := scale{warp: warp, from: 0, to: max(most, 1)}
	for i := range nines + 1 {
		if float64(i) <= s.to+1e-9 {
			s.ticks = append(s.ticks, 100-math.Pow(10, float64(2-i)))
		}
	}
	return s
}

// tickText is short: it has no more digits than the ticks of an axis need, and letters in place of many zeros.
func tickText(value float64) string {
	for _, large := range []struct {
		power  float64
		letter string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}} {
		if math.Abs(value) >= large.power {
			return significant(value/large.power) + large.letter
		}
	}
	return significant(value)
}

// significant drops what floating point adds behind the ninth digit.
func significant(value float64) string {
	if size := math.Abs(value); size > 0 && size < 1e-4 {
		return strconv.FormatFloat(value, 'g', 3, 64)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(value, 'g', 9, 64), 64)
	if err != nil { // it is a number that was just written
		rounded = value
	}
	return humanize.Commaf(rounded)
}
