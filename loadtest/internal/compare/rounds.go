package compare

import (
	"math"
	"slices"
	"time"
)

// InTurn returns the contenders of a round: each round begins with another one.
func InTurn[T any](all []T, round int) []T {
	if len(all) == 0 {
		return nil
	}
	first := round % len(all)
	return slices.Concat(all[first:], all[:first])
}

// Median returns the middle value, or the mean of the two in the middle; 0 of none.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	switch {
	case n == 0:
		return 0
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

// PairedRatio is the median of the ratios of rounds that followed one another: what else happened on the machine
// then hit both.
func PairedRatio(a, b []float64) float64 {
	ratios := make([]float64, min(len(a), len(b)))
	for i := range ratios {
		ratios[i] = Ratio(a[i], b[i])
	}
	return Median(ratios)
}

// Jain is Jain's fairness index: the square of the sum, over n times the sum of the squares. 0 if nobody got anything.
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
