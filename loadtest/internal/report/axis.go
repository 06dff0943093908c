package report

import (
	"math"
	"strconv"

	"github.com/dustin/go-humanize"
)

const (
	leastDrawn = 1e-15 // what differs by less, or is nearer to 0 on a logarithmic axis, no axis tells apart
	xSteps     = 8     // of a linear axis from left to right, about
	ySteps     = 5     // of one that shows sizes
	logTicks   = 10    // of a logarithmic axis, at most
	nines      = 8     // how far a percentile axis goes: 99.999999
)

// scale places values along an axis.
type scale struct {
	warp     func(float64) float64 // grows with the value; not finite where a value has no place on the axis
	from, to float64               // the ends of the axis, warped
	ticks    []tick
}

// tick is a value that is written beside its axis.
type tick struct {
	value float64
	text  string
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

// alongX is as long as its values: time passes from the first to the last.
func alongX(values []float64) scale {
	warp := linear
	from, to := apart(bounds(values, warp))
	s := scale{warp: warp, from: from, to: to}
	step := roundStep((to - from) / xSteps)
	s.ticks = steps(math.Ceil(from/step-1e-9), math.Floor(to/step+1e-9), step)
	return s
}

// fromZero shows sizes: it begins at 0, and ends at a tick.
func fromZero(values []float64) scale {
	warp := linear
	least, most := bounds(values, warp)
	least, most = apart(min(least, 0), max(most, 0))
	step := roundStep((most - least) / ySteps)
	first, last := math.Floor(least/step+1e-9), math.Ceil(most/step-1e-9)
	return scale{warp: warp, from: first * step, to: last * step, ticks: steps(first, last, step)}
}

// linear leaves values as they are, and what nobody can draw without a place.
func linear(value float64) float64 {
	if !drawable(value) {
		return math.NaN()
	}
	return value
}

// apart keeps the ends of an axis from being one.
func apart(least, most float64) (from, to float64) {
	if most-least > max(leastDrawn, 1e-9*max(math.Abs(least), math.Abs(most))) {
		return least, most
	}
	return least, least + max(1, math.Abs(least)/10)
}

// steps are the ticks at whole multiples of a step.
func steps(first, last, step float64) (ticks []tick) {
	for i := range int(last-first) + 1 {
		value := (first + float64(i)) * step
		ticks = append(ticks, tick{value, tickText(value)})
	}
	return ticks
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

// logarithmic has no place for 0 and less. It begins and ends at 1, 2 or 5 times a power of ten.
func logarithmic(values []float64) scale {
	warp := func(value float64) float64 {
		if value < leastDrawn || !drawable(value) {
			return math.NaN()
		}
		return math.Log10(value)
	}
	least, most := bounds(values, warp)
	first, last := int(math.Floor(3*least)), int(math.Ceil(3*most))
	for rung(first) > least+1e-9 {
		first--
	}
	for rung(first+1) <= least+1e-9 {
		first++
	}
	for rung(last-1) >= most-1e-9 {
		last--
	}
	last = max(last, first+1)
	s := scale{warp: warp, from: rung(first), to: rung(last)}
	every := 1 // rung
	if last-first >= logTicks {
		every = 3 * ((last-first)/(3*logTicks) + 1) // whole powers of ten
	}
	for i := first; i <= last; i++ {
		if i%every == 0 {
			value := math.Pow(10, rung(i))
			s.ticks = append(s.ticks, tick{value, tickText(value)})
		}
	}
	return s
}

// rung is the logarithm of a number of the ladder 1, 2, 5, 10, 20, 50 …
func rung(i int) float64 {
	power := math.Floor(float64(i) / 3)
	return power + []float64{0, math.Log10(2), math.Log10(5)}[i-3*int(power)]
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
			value := 100 - math.Pow(10, float64(2-i))
			s.ticks = append(s.ticks, tick{value, strconv.FormatFloat(value, 'f', max(0, i-2), 64)})
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
