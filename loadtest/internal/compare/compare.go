// Package compare is the arithmetic of figures that scenarios share.
package compare

import (
	"math"
	"slices"
	"time"

	"inventory/internal/latency"
)

// Median returns the middle value, or the mean of the two in the middle; no number of none.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	switch {
	case n == 0:
		return math.NaN()
	case n%2 == 1:
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// Ratio is a/b, and no number where there is nothing to compare with: that meets no target.
func Ratio(a, b float64) float64 {
	if b == 0 {
		return math.NaN()
	}
	return a / b
}

// Jain is Jain's fairness index: the square of the sum, over n times the sum of the squares. No number if nobody got anything.
func Jain(counts []int64) float64 {
	var sum, squares float64
	for _, n := range counts {
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	return Ratio(sum*sum, float64(len(counts))*squares)
}

// Milliseconds is a time as figures tell it.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Quantile is the time in milliseconds that so many percent stayed within; no number where nobody waited.
func Quantile(waits *latency.Histogram, percent float64) float64 {
	if waits.Count() == 0 {
		return math.NaN()
	}
	return Milliseconds(waits.Quantile(percent))
}
