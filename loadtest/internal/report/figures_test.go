package report

import (
	"math"
	"testing"
)

func TestMedian(t *testing.T) {
	t.Parallel()
	if got := Median(nil); !math.IsNaN(got) {
		t.Errorf("of nothing: %v", got)
	}
	for want, values := range map[float64][]float64{4: {4}, 2: {9, 1, 2}, 2.5: {4, 1, 3, 2}} {
		if got := Median(values); got != want {
			t.Errorf("of %v: %v", values, got)
		}
	}
}

// TestNothingToCompareWithMeetsNothing: no number is neither more nor less than a bound.
func TestNothingToCompareWithMeetsNothing(t *testing.T) {
	t.Parallel()
	if got := Ratio(5, 0); !math.IsNaN(got) || Ratio(1, 4) != 0.25 {
		t.Error(got)
	}
}

func TestJain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		counts []int64
		want   float64
	}{
		"nobody":           {nil, math.NaN()},
		"nothing":          {[]int64{0, 0}, math.NaN()},
		"alone":            {[]int64{7}, 1},
		"all the same":     {[]int64{3, 3, 3}, 1},
		"one has all":      {[]int64{0, 9, 0, 0}, 0.25},
		"one has the half": {[]int64{1, 2}, 0.9},
	} {
		if got := Jain(c.counts); math.Abs(got-c.want) > 1e-9 || math.IsNaN(got) != math.IsNaN(c.want) {
			t.Errorf("%s: %v instead of %v", name, got, c.want)
		}
	}
}
