// Package compare is the arithmetic of figures that scenarios share.
package compare

import (
	"fmt"
	"math"
	"slices"
	"time"

	"inventory/internal/latency"
	"inventory/loadtest/internal/report"
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

// Measure is a number of each round, as tables, figures and sentences have it.
type Measure[R any] struct {
	Name, Unit string
	Of         func(round R) float64
	Figure     bool // it is a figure of the report
}

// Over is the number of each round.
func (m Measure[R]) Over(rounds []R) []float64 {
	all := make([]float64, len(rounds))
	for i, r := range rounds {
		all[i] = m.Of(r)
	}
	return all
}

// Value is that of all rounds together; no number where a round has none.
func (m Measure[R]) Value(rounds []R) float64 {
	all := m.Over(rounds)
	if slices.ContainsFunc(all, math.IsNaN) {
		return math.NaN()
	}
	return Median(all)
}

// Words are the value for a sentence, with its unit.
func (m Measure[R]) Words(rounds []R) string {
	text := report.Number(m.Value(rounds)) + " " + m.Unit
	if all := m.Over(rounds); len(all) > 1 {
		text += fmt.Sprintf(" (median of %d rounds, %s to %s)", len(rounds), report.Number(slices.Min(all)), report.Number(slices.Max(all)))
	}
	return text
}

// Figures are the figures of a report. What is no number is left out.
func Figures[R any](all []Measure[R], rounds []R) (figures []report.Figure) {
	for _, m := range all {
		if value := m.Value(rounds); m.Figure && !math.IsNaN(value) {
			figures = append(figures, report.Figure{Name: m.Name, Unit: m.Unit, Value: value})
		}
	}
	return figures
}
