package report

import (
	"math"
	"strconv"

	"github.com/dustin/go-humanize"
)

const (
	leastDrawn = 1e-15 // what differs by less no axis tells apart
	steps      = 6     // of a linear axis, about
	nines      = 8     // how far a percentile axis goes: 99.999999
)

// scale places values along an axis.
type scale struct {
	warp     func(float64) float64 // grows with the value; no number where a value has no place on the axis
	from, to float64               // the ends of the axis, warped
	ticks    []float64
}

// newScale is as long as its values; 0 to 1 if none of them has a place.
func newScale(values []float64, warp func(float64) float64) scale {
	s := scale{warp, math.Inf(1), math.Inf(-1), nil}
	for _, value := range values {
		if s.has(value) {
			s.from, s.to = min(s.from, warp(value)), max(s.to, warp(value))
		}
	}
	if s.from > s.to {
		s.from, s.to = 0, 1
	}
	return s
}

// has tells whether a value has a place on the axis. What is further from 0 than any figure has none, as NaN has.
func (s scale) has(value float64) bool { return math.Abs(s.warp(value)) <= mostTold }

// at is the place of a value between two ends of the paper.
func (s scale) at(value, from, to float64) float64 {
	return from + (s.warp(value)-s.from)/(s.to-s.from)*(to-from)
}

// scale is that of the axis for some values. One that shows sizes has room for them from 0, or from a power below them.
func (a Axis) scale(values []float64, sizes bool) scale {
	if a.Log {
		return logarithmic(values, sizes)
	}
	return linear(values, sizes)
}

// linear is the usual axis. One that shows sizes begins at 0, and ends at a tick.
func linear(values []float64, sizes bool) scale {
	s := newScale(values, func(value float64) float64 { return value })
	if sizes {
		s.from, s.to = min(s.from, 0), max(s.to, 0)
	}
	if s.to-s.from <= max(leastDrawn, 1e-9*max(math.Abs(s.from), math.Abs(s.to))) { // the ends are not one
		s.to = s.from + max(1, math.Abs(s.from)/10)
	}
	step := roundStep((s.to - s.from) / steps)
	if sizes {
		s.from, s.to = step*math.Floor(s.from/step+1e-9), step*math.Ceil(s.to/step-1e-9)
	}
	first := math.Ceil(s.from/step - 1e-9)
	for i := range int(math.Floor(s.to/step+1e-9)-first) + 1 {
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
	s := newScale(values, math.Log10)
	least := s.from
	s.from, s.to = math.Floor(s.from+1e-9), math.Ceil(s.to-1e-9)
	if sizes {
		s.from = math.Ceil(least) - 1
	}
	s.to = max(s.to, s.from+1)
	between := []float64{1, 2, 5}
	if s.to-s.from > 3 {
		between = between[:1]
	}
	for power := s.from; power <= s.to; power += math.Ceil((s.to - s.from) / 10) {
		for _, n := range between {
			if value := n * math.Pow(10, power); s.has(value) && s.warp(value) <= s.to+1e-9 {
				s.ticks = append(s.ticks, value)
			}
		}
	}
	return s
}

// percentiles has equal steps from 0 to 90, to 99, to 99.9 and so on, as HdrHistogram's plots have: the tail is what
// one looks for. There is no place for the 100th, which would be endlessly far.
func percentiles(values []float64) scale {
	s := newScale(values, func(percentile float64) float64 {
		if at := -math.Log10(1 - percentile/100); percentile >= 0 && at <= nines+1e-9 {
			return at
		}
		return math.NaN()
	})
	s.from, s.to = 0, max(s.to, 1)
	for i := range int(s.to+1e-9) + 1 {
		s.ticks = append(s.ticks, 100-math.Pow(10, float64(2-i)))
	}
	return s
}

// tickText is short: it has no more digits than the ticks of an axis need, and letters in place of many zeros.
func tickText(value float64) string {
	letter := ""
	if math.Abs(value) >= 1e6 {
		value, letter = humanize.ComputeSI(value)
	}
	return significant(value) + letter
}

// significant drops what floating point adds behind the ninth digit.
func significant(value float64) string {
	if size := math.Abs(value); size > 0 && size < 1e-4 {
		return strconv.FormatFloat(value, 'g', 3, 64)
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(value, 'g', 9, 64), 64) // a number that was just written
	return humanize.Commaf(rounded)
}
