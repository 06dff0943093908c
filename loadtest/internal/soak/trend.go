package soak

import (
	"math"
	"slices"
	"time"

	"inventory/loadtest/internal/compare"
)

// Line is a value over time.
type Line struct{ Seconds, Values []float64 }

// after is the part of a line from a time on.
func (l Line) after(from time.Duration) Line {
	n, _ := slices.BinarySearch(l.Seconds, from.Seconds())
	return Line{l.Seconds[n:], l.Values[n:]}
}

// before is the part of a line up to a time.
func (l Line) before(to time.Duration) Line {
	n, _ := slices.BinarySearch(l.Seconds, to.Seconds())
	return Line{l.Seconds[:n], l.Values[:n]}
}

// trend is a straight line through values.
type trend struct {
	from  float64 // where it begins
	slope float64 // a second
	took  float64 // seconds
	noise float64 // by how much values lie off it: the median
}

func (t trend) growth() float64 { return t.slope * t.took }
func (t trend) to() float64     { return t.from + t.growth() }

const (
	// leastPoints is how many values make a trend.
	leastPoints = 8
	// mostPoints is how many of them are looked at: each with each.
	mostPoints = 400
)

// thinned leaves out values of a long line, evenly.
func (l Line) thinned() (t Line) {
	n := len(l.Values)
	if n <= mostPoints {
		return l
	}
	for i := range mostPoints {
		at := i * (n - 1) / (mostPoints - 1)
		t.Seconds, t.Values = append(t.Seconds, l.Seconds[at]), append(t.Values, l.Values[at])
	}
	return t
}

// trend draws the line of Theil and Sen, whose slope is the median of the slopes between any two values: a peak, or a tooth of
// the garbage collector's saw, does not bend it.
func (l Line) trend() (t trend, ok bool) {
	l = l.thinned()
	n := len(l.Values)
	if n < leastPoints || l.Seconds[n-1] <= l.Seconds[0] {
		return trend{}, false
	}
	var slopes []float64
	for i := range n {
		for j := range i {
			if apart := l.Seconds[i] - l.Seconds[j]; apart > 0 {
				slopes = append(slopes, (l.Values[i]-l.Values[j])/apart)
			}
		}
	}
	t.slope, t.took = compare.Median(slopes), l.Seconds[n-1]-l.Seconds[0]
	off := make([]float64, n)
	for i := range off {
		off[i] = l.Values[i] - t.slope*(l.Seconds[i]-l.Seconds[0])
	}
	t.from = compare.Median(off)
	for i := range off {
		off[i] = math.Abs(off[i] - t.from)
	}
	t.noise = compare.Median(off)
	return t, true
}
