package chaos

import (
	"fmt"
	"math"
	"slices"
	"time"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/gauges"
	"inventory/loadtest/internal/report"
)

// The bounds of growth. Before they are that long, runs are not held to them: a service still fills what it keeps for good, and
// the workers of its SKUs still start.
const (
	mostGrowth         = 0.10 // of resident memory in the second half, in parts of what it was
	leastForMemory     = 5 * time.Minute
	mostGoroutines     = 1.25 // of the last quarter, in parts of the first's
	leastForGoroutines = time.Minute
	quarters           = 4
	megabyte           = 1e6
)

// growth is what only time brings, and only a run without faults shows: memory and goroutines that are not given back, and tables
// that grow faster than what is in them.
func growth(read gauges.Readings, accepted int64) (s report.Section) {
	s.Name, s.Table = "growth", &report.Table{Columns: []string{"", "first quarter", "last quarter", "times"}}
	took := read.Took()
	judge := func(name string, q gauges.Quantity, unit float64) (ratio float64, known bool) {
		first, last := quarter(read, q, 0), quarter(read, q, quarters-1)
		if math.IsNaN(first) || math.IsNaN(last) {
			s.Notes = append(s.Notes, name+" is not known")
			return 0, false
		}
		ratio = compare.Ratio(last, first)
		s.Table.Rows = append(s.Table.Rows, []string{name, report.Number(first / unit), report.Number(last / unit), report.Number(ratio)})
		return ratio, true
	}
	judge("resident memory, MB", gauges.Memory, megabyte)
	if ratio, known := judge("goroutines", gauges.Goroutines, 1); known && took >= leastForGoroutines {
		s.Targets = append(s.Targets, report.AtMost("goroutines of the last quarter, in parts of the first's", ratio, mostGoroutines))
	}
	seconds, values := read.Points(gauges.Memory)
	if from, slope, ok := trend(seconds, values, took/2); ok {
		grown := slope * (took / 2).Seconds()
		s.Notes = append(s.Notes, fmt.Sprintf("resident memory grows by %.3g MB an hour in the second half, %.3g bytes for each accepted order of it",
			slope*time.Hour.Seconds()/megabyte, compare.Ratio(grown, float64(accepted)/2)))
		if took >= leastForMemory {
			s.Targets = append(s.Targets, report.AtMost("growth of resident memory in the second half, in parts of it", compare.Ratio(grown, from), mostGrowth))
		}
	}
	if tables, indexes := read.Growth(); !math.IsNaN(tables) {
		s.Notes = append(s.Notes, fmt.Sprintf("tables grew by %s bytes for each accepted order, indexes by %s",
			report.Number(compare.Ratio(tables, float64(accepted))), report.Number(compare.Ratio(indexes, float64(accepted)))))
	}
	if took < leastForMemory {
		s.Notes = append(s.Notes, fmt.Sprintf("runs of less than %v are not held to a memory, and those of less than %v not to goroutines", leastForMemory, leastForGoroutines))
	}
	return s
}

// quarter is the median of a quantity in a quarter of the readings; no number if it is not known.
func quarter(read gauges.Readings, q gauges.Quantity, n int) float64 {
	_, values := read.Points(q)
	return compare.Median(values[n*len(values)/quarters : (n+1)*len(values)/quarters])
}

const (
	leastPoints = 8   // that make a trend
	mostPoints  = 400 // that are looked at: each with each
)

// trend is the line of Theil and Sen through values from a time on: where it begins, and its slope a second, the median of the
// slopes between any two. A peak, or a tooth of the garbage collector's saw, does not bend it.
func trend(seconds, values []float64, from time.Duration) (begin, slope float64, ok bool) {
	n, _ := slices.BinarySearch(seconds, from.Seconds())
	seconds, values = seconds[n:], values[n:]
	if len(values) < leastPoints {
		return 0, 0, false
	}
	step := 1 + len(values)/mostPoints
	var slopes, begins []float64
	for i := 0; i < len(values); i += step {
		for j := 0; j < i; j += step {
			slopes = append(slopes, (values[i]-values[j])/(seconds[i]-seconds[j]))
		}
	}
	slope = compare.Median(slopes)
	for i := range values {
		begins = append(begins, values[i]-slope*(seconds[i]-seconds[0]))
	}
	return compare.Median(begins), slope, true
}
