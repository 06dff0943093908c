package segments

import (
	"math"
	"time"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
)

// courses are lines of plots: for each name and each slice of time the values of all rounds.
type courses struct {
	every time.Duration
	seen  map[string][][]float64
}

func newCourses(every time.Duration) courses { return courses{every, map[string][][]float64{}} }

// note adds the value of a round in a slice, unless it is NaN.
func (c courses) note(name string, slice int, value float64) {
	if math.IsNaN(value) {
		return
	}
	for len(c.seen[name]) <= slice {
		c.seen[name] = append(c.seen[name], nil)
	}
	c.seen[name][slice] = append(c.seen[name][slice], value)
}

// sold adds the sales a second of a round.
func (c courses) sold(name string, t load.Timeline, end time.Duration) {
	for i := 0; time.Duration(i+1)*c.every <= end; i++ {
		c.note(name, i, t.PerSecond(time.Duration(i)*c.every, time.Duration(i+1)*c.every))
	}
}

// series are the medians of the rounds, at the middle of each slice in seconds. A slice without values has no point, and a name
// without points no series.
func (c courses) series(names ...string) (all []report.Series) {
	for _, name := range names {
		s := report.Series{Name: name}
		for i, values := range c.seen[name] {
			if len(values) > 0 {
				s.X = append(s.X, (float64(i)+0.5)*c.every.Seconds())
				s.Y = append(s.Y, compare.Median(values))
			}
		}
		if len(s.Y) > 0 {
			all = append(all, s)
		}
	}
	return all
}
