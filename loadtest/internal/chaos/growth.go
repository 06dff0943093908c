package chaos

import (
	"fmt"
	"math"
	"time"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/gauges"
	"inventory/loadtest/internal/report"
)

// The bounds of growth. Before they are that long, runs are not held to them: a service still fills what it keeps for good, and
// the workers of its SKUs still start.
const (
	mostMemory         = 1.1 // of the last quarter, in parts of the third's: the second half
	leastForMemory     = 5 * time.Minute
	mostGoroutines     = 1.25 // of the last quarter, in parts of the first's
	leastForGoroutines = time.Minute
	quarters           = 4
	megabyte           = 1e6
)

// growth is what only time brings, and only a run without faults shows: memory and goroutines that are not given back, and tables
// that grow faster than what is in them.
func growth(read gauges.Readings, accepted int64) (s report.Section) {
	s.Name, s.Table = "growth", &report.Table{Columns: []string{"", "first quarter", "third", "last", "last in parts of the first"}}
	took := read.Took()
	row := func(name string, q gauges.Quantity, unit float64) (first, third, last float64) {
		first, third, last = quarter(read, q, 0), quarter(read, q, 2), quarter(read, q, quarters-1)
		s.Table.Rows = append(s.Table.Rows, []string{
			name, report.Number(first / unit), report.Number(third / unit), report.Number(last / unit), report.Number(compare.Ratio(last, first)),
		})
		return first, third, last
	}
	if _, third, last := row("resident memory, MB", gauges.Memory, megabyte); took >= leastForMemory {
		s.Targets = append(s.Targets, report.AtMost("resident memory of the last quarter, in parts of the third's", compare.Ratio(last, third), mostMemory))
	}
	if first, _, last := row("goroutines", gauges.Goroutines, 1); took >= leastForGoroutines {
		s.Targets = append(s.Targets, report.AtMost("goroutines of the last quarter, in parts of the first's", compare.Ratio(last, first), mostGoroutines))
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

// quarter is the median of a quantity in a quarter of the readings, which a peak or the garbage collector's saw does not bend; no
// number if it is not known.
func quarter(read gauges.Readings, q gauges.Quantity, n int) float64 {
	_, values := read.Points(q)
	return compare.Median(values[n*len(values)/quarters : (n+1)*len(values)/quarters])
}
