package chaos

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestTrendsAreThoseOfMostValues draws a line through values that waver, with a peak in them.
func TestTrendsAreThoseOfMostValues(t *testing.T) {
	t.Parallel()
	const seed = 7
	random := rand.New(rand.NewPCG(seed, seed))
	var seconds, values []float64
	for i := range 1000 {
		seconds = append(seconds, float64(i))
		value := 500 + 2*float64(i) + random.Float64()
		switch {
		case i < 400:
			value = 0 // before the part that is judged
		case i > 600 && i < 650:
			value *= 3
		}
		values = append(values, value)
	}
	begin, slope, ok := trend(seconds, values, 400*time.Second)
	if !ok || math.Abs(slope-2) > 0.01 || math.Abs(begin-1300) > 5 {
		t.Errorf("from %v by %v a second, %v; want 1300 by 2", begin, slope, ok)
	}
	if _, _, ok := trend(seconds[:7], values[:7], 0); ok {
		t.Error("seven values make a trend")
	}
}
