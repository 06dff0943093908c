package load

import (
	"slices"
	"testing"
	"time"
)

func TestManySegmentsAreDrawnAsThree(t *testing.T) {
	t.Parallel()
	few := []Stock{{0, 5, []float64{2, 3}}, {time.Second, 1, []float64{1, 0}}}
	if lines := SegmentLines(few); len(lines) != 2 || !slices.Equal(lines[1].Y, []float64{3, 0}) {
		t.Errorf("few: %+v", lines)
	}
	units := make([]float64, mostLines+1)
	for i := range units {
		units[i] = float64(i)
	}
	lines := SegmentLines([]Stock{{0, 78, units}})
	if len(lines) != 3 || lines[0].Y[0] != 0 || lines[1].Y[0] != 6 || lines[2].Y[0] != 12 {
		t.Errorf("many: %+v", lines)
	}
	if lines := SegmentLines(nil); len(lines) > 0 {
		t.Errorf("none: %+v", lines)
	}
}
