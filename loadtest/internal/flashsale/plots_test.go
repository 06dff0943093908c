package flashsale

import (
	"slices"
	"testing"
	"time"

	"inventory/internal/latency"
)

func TestPercentilesReachAsFarAsThereAreAnswers(t *testing.T) {
	t.Parallel()
	for n, most := range map[int]float64{1: 0, 100: 99, 10_000: 99.99} {
		h := latency.New()
		for i := range n {
			h.Record(time.Duration(i+1) * time.Millisecond)
		}
		line := percentiles("x", h)
		last := line.X[len(line.X)-1]
		if !slices.IsSorted(line.X) || !slices.IsSorted(line.Y) || len(line.X) != len(line.Y) || last > most || last < most-1 {
			t.Errorf("of %d: up to %v", n, last)
		}
	}
	if line := percentiles("none", latency.New()); len(line.X) > 0 {
		t.Errorf("of none: %v", line)
	}
}

func TestManySegmentsAreDrawnAsThree(t *testing.T) {
	t.Parallel()
	few := &round{samples: []sample{{0, 5, []int64{2, 3}}, {time.Second, 1, []int64{1, 0}}}}
	if lines := few.segmentLines(); len(lines) != 2 || !slices.Equal(lines[1].Y, []float64{3, 0}) {
		t.Errorf("few: %+v", lines)
	}
	units := make([]int64, mostLines+1)
	for i := range units {
		units[i] = int64(i)
	}
	many := &round{samples: []sample{{0, 78, units}}}
	lines := many.segmentLines()
	if len(lines) != 3 || lines[0].Y[0] != 0 || lines[1].Y[0] != 6 || lines[2].Y[0] != 12 {
		t.Errorf("many: %+v", lines)
	}
	if lines := (&round{}).segmentLines(); len(lines) > 0 {
		t.Errorf("none: %+v", lines)
	}
}
