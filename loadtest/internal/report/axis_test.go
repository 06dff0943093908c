package report

import (
	"math"
	"strings"
	"testing"
)

func TestTicks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scale scale
		want  string
	}{
		"sizes":           {fromZero([]float64{3, 41}), "0 10 20 30 40 50"},
		"small sizes":     {fromZero([]float64{0.3, 0.7}), "0 0.2 0.4 0.6 0.8"},
		"large sizes":     {fromZero([]float64{2_400_000}), "0 500,000 1M 1.5M 2M 2.5M"},
		"below zero":      {fromZero([]float64{-3, 4}), "-4 -2 0 2 4"},
		"nothing":         {fromZero(nil), "0 0.2 0.4 0.6 0.8 1"},
		"all zero":        {fromZero([]float64{0, 0}), "0 0.2 0.4 0.6 0.8 1"},
		"no numbers":      {fromZero([]float64{math.NaN(), math.Inf(1)}), "0 0.2 0.4 0.6 0.8 1"},
		"time":            {alongX([]float64{0, 59.75}), "0 10 20 30 40 50"},
		"time from later": {alongX([]float64{100, 108}), "100 101 102 103 104 105 106 107 108"},
		"two decades":     {logarithmic([]float64{3, 140}), "2 5 10 20 50 100 200"},
		"many decades":    {logarithmic([]float64{0.02, 900_000}), "0.1 1 10 100 1,000 10,000 100,000 1M"},
		"one value":       {logarithmic([]float64{10}), "10 20"},
		"not above zero":  {logarithmic([]float64{0, -5}), "1 2 5 10"},
		"percentiles":     {percentiles([]float64{0, 50, 99.99}), "0 90 99 99.9 99.99"},
		"the hundredth":   {percentiles([]float64{0, 99.9, 100}), "0 90 99 99.9"},
		"no percentiles":  {percentiles(nil), "0 90"},
	} {
		var got []string
		for _, tick := range c.scale.ticks {
			got = append(got, tick.text)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
}

// TestPercentilesAreEquallyFar holds the axis against what its name promises.
func TestPercentilesAreEquallyFar(t *testing.T) {
	t.Parallel()
	s := percentiles([]float64{99.99})
	for i, percentile := range []float64{0, 90, 99, 99.9, 99.99} {
		if at := s.at(percentile, 0, 400); math.Abs(at-100*float64(i)) > 1e-6 {
			t.Errorf("%v is at %v, want %v", percentile, at, 100*i)
		}
	}
}
