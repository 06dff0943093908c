package segments

import (
	"math"
	"slices"
	"time"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
)

// course is how something went over time, in slices of the same length: of each slice, what every round has seen.
type course struct {
	every time.Duration
	seen  [][]float64
}

// note adds what a round has seen in a slice. What is no number was not seen.
func (c *course) note(slice int, value float64) {
	if math.IsNaN(value) {
		return
	}
	for len(c.seen) <= slice {
		c.seen = append(c.seen, nil)
	}
	c.seen[slice] = append(c.seen[slice], value)
}

// sold adds what a round sold, a second.
func (c *course) sold(t load.Timeline, end time.Duration) {
	for i := 0; time.Duration(i+1)*c.every <= end; i++ {
		c.note(i, t.PerSecond(time.Duration(i)*c.every, time.Duration(i+1)*c.every))
	}
}

// series is the median of the rounds, at the middle of each slice in seconds. A slice of which no round has seen anything
// has no point.
func (c *course) series(name string) report.Series {
	s := report.Series{Name: name}
	for i, values := range c.seen {
		if len(values) > 0 {
			s.X = append(s.X, (float64(i)+0.5)*c.every.Seconds())
			s.Y = append(s.Y, compare.Median(values))
		}
	}
	return s
}

// seen leaves out series without any point: nothing of the kind has happened.
func seen(all ...report.Series) []report.Series {
	return slices.DeleteFunc(all, func(s report.Series) bool { return len(s.Y) == 0 })
}
