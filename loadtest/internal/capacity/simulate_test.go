package capacity

import (
	"maps"
	"math"
	"testing"
)

// near reports whether a figure is close to the theoretical one.
func near(got, want float64) bool { return math.Abs(got-want) <= want/10 }

// TestAQueueWaitsAsTheorySays: with one processor, and nothing to write, it is M/M/1, whose median is ln 2 of its mean.
func TestAQueueWaitsAsTheorySays(t *testing.T) {
	t.Parallel()
	const us, load = 100., 0.5
	s := simulate(line{order: Cost{us, 0}, cores: 1, rate: load * 1e6 / us}, 1)
	if want := us / (1 - load) * math.Ln2 / 1e3; !near(s[median], want) || !near(s[rate], load*1e6/us) {
		t.Errorf("%v ms instead of %v, %v orders a second", s[median], want, s[rate])
	}
}

// TestACrowdIsServedAsFastAsProcessorsCan: callers that always order keep the processors busy, and the more there are,
// the larger are their writes.
func TestACrowdIsServedAsFastAsProcessorsCan(t *testing.T) {
	t.Parallel()
	l := line{writers: writers{256, 4, 256, 4}, order: Cost{40, 100}, write: Cost{10, 500}, wait: 500, cores: 2}
	before := 0.
	for _, callers := range []int{4, 64, 512} {
		l.callers = callers
		s := simulate(l, 1)
		if s[batch] <= before || s[batch] > 512 {
			t.Errorf("%d callers: %v orders a write, after %v", callers, s[batch], before)
		}
		before = s[batch]
		most := 2e6 / (50 + 600/s[batch])
		if s[rate] > most*1.02 || callers == 512 && !near(s[rate], most) {
			t.Errorf("%d callers: %v orders a second, of %v", callers, s[rate], most)
		}
		if cycle := float64(callers) / s[rate] * 1e3; s[median] > 2*cycle { // Little's law
			t.Errorf("%d callers: %v ms, in cycles of %v ms", callers, s[median], cycle)
		}
	}
}

func TestASeedDecidesASimulation(t *testing.T) {
	t.Parallel()
	l := line{writers: writers{256, 0, 24, 2}, order: Cost{40, 100}, write: Cost{10, 500}, wait: 500, cores: 2, node: 4, rate: 20_000}
	if first, again, other := simulate(l, 1), simulate(l, 1), simulate(l, 2); !maps.Equal(first, again) || maps.Equal(first, other) {
		t.Errorf("%v, %v, %v", first, again, other)
	}
}
