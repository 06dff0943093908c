package compare

import (
	"math"
	"strings"
	"testing"
)

func TestMedian(t *testing.T) {
	t.Parallel()
	for want, values := range map[float64][]float64{0: nil, 4: {4}, 2: {9, 1, 2}, 2.5: {4, 1, 3, 2}} {
		if got := Median(values); got != want {
			t.Errorf("of %v: %v", values, got)
		}
	}
}

// TestRatiosArePaired: the machine was half as fast in the second round, which says nothing about the contenders.
func TestRatiosArePaired(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b []float64
		want float64
	}{
		"none":            {nil, nil, 0},
		"a slow round":    {[]float64{50, 25, 50}, []float64{100, 50, 100}, 0.5},
		"nothing in one":  {[]float64{50, 50, 50}, []float64{100, 0, 100}, 0.5},
		"one has no more": {[]float64{50, 50}, []float64{100}, 0.5},
	} {
		if got := PairedRatio(c.a, c.b); got != c.want {
			t.Errorf("%s: %v instead of %v", name, got, c.want)
		}
	}
}

func TestJain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		counts []int64
		want   float64
	}{
		"nobody":           {nil, 0},
		"nothing":          {[]int64{0, 0}, 0},
		"alone":            {[]int64{7}, 1},
		"all the same":     {[]int64{3, 3, 3}, 1},
		"one has all":      {[]int64{0, 9, 0, 0}, 0.25},
		"one has the half": {[]int64{1, 2}, 0.9},
	} {
		if got := Jain(c.counts); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v instead of %v", name, got, c.want)
		}
	}
}

func TestEachRoundBeginsWithAnother(t *testing.T) {
	t.Parallel()
	var orders []string
	for round := range 4 {
		orders = append(orders, strings.Join(InTurn([]string{"a", "b", "c"}, round), ""))
	}
	if got := strings.Join(orders, " "); got != "abc bca cab abc" || InTurn([]int(nil), 1) != nil {
		t.Error(got)
	}
}
