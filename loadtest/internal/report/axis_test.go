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
		"sizes":           {Axis{}.scale([]float64{3, 41}, true), "0 10 20 30 40 50"},
		"small sizes":     {Axis{}.scale([]float64{0.3, 0.7}, true), "0 0.2 0.4 0.6 0.8"},
		"large sizes":     {Axis{}.scale([]float64{2_400_000}, true), "0 500,000 1M 1.5M 2M 2.5M"},
		"below zero":      {Axis{}.scale([]float64{-3, 4}, true), "-4 -2 0 2 4"},
		"nothing":         {Axis{}.scale(nil, true), "0 0.2 0.4 0.6 0.8 1"},
		"all zero":        {Axis{}.scale([]float64{0, 0}, true), "0 0.2 0.4 0.6 0.8 1"},
		"no numbers":      {Axis{}.scale([]float64{math.NaN(), math.Inf(1)}, true), "0 0.2 0.4 0.6 0.8 1"},
		"time":            {Axis{}.scale([]float64{0, 59.75}, false), "0 10 20 30 40 50"},
		"time from later": {Axis{}.scale([]float64{100, 108}, false), "100 102 104 106 108"},
		"two decades":     {Axis{Log: true}.scale([]float64{3, 140}, false), "1 2 5 10 20 50 100 200 500 1,000"},
		"many decades":    {Axis{Log: true}.scale([]float64{0.02, 900_000}, false), "0.01 0.1 1 10 100 1,000 10,000 100,000 1M"},
		"one value":       {Axis{Log: true}.scale([]float64{10}, false), "10 20 50 100"},
		"not above zero":  {Axis{Log: true}.scale([]float64{0, -5}, false), "1 2 5 10"},
		"percentiles":     {percentiles([]float64{0, 50, 99.99}), "0 90 99 99.9 99.99"},
		"the hundredth":   {percentiles([]float64{0, 99.9, 100}), "0 90 99 99.9"},
		"no percentiles":  {percentiles(nil), "0 90"},
	} {
		var got []string
		for _, tick := range c.scale.ticks {
			got = append(got, tickText(tick))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
}

// TestPercentilesAreEquallyFar checks the axis against the promise of its name.
func TestPercentilesAreEquallyFar(t *testing.T) {
	t.Parallel()
	s := percentiles([]float64{99.99})
	for i, percentile := range []float64{0, 90, 99, 99.9, 99.99} {
		if at := s.at(percentile, 0, 400); math.Abs(at-100*float64(i)) > 1e-6 {
			t.Errorf("%v is at %v, want %v", percentile, at, 100*i)
		}
	}
}
