package load

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTimesOfEvenSpacing(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		phases []Phase
		want   []time.Duration
	}{
		"nothing":  {nil, nil},
		"constant": {[]Phase{{"", 4, time.Second}}, []time.Duration{125 * ms, 375 * ms, 625 * ms, 875 * ms}},
		// What is left of a step is taken over: the second phase begins half a step after its last request was due.
		"two":    {[]Phase{{"", 2, 500 * ms}, {"", 10, 200 * ms}}, []time.Duration{250 * ms, 550 * ms, 650 * ms}},
		"silent": {[]Phase{{"", 0, time.Second}, {"", 2, time.Second}}, []time.Duration{1250 * ms, 1750 * ms}},
	} {
		got := Times(1, Even, c.phases)
		if !slices.EqualFunc(got, c.want, func(a, b time.Duration) bool { return (a - b).Abs() < time.Microsecond }) {
			t.Errorf("%s: %v instead of %v", name, got, c.want)
		}
	}
}

func TestTimesOfAnyPhases(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seed, spacing := rapid.Uint64().Draw(t, "seed"), rapid.SampledFrom([]Spacing{Even, Poisson}).Draw(t, "spacing")
		phases := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Phase {
			return Phase{
				Rate:   rapid.Float64Range(0, 2000).Draw(t, "rate"),
				Length: time.Duration(rapid.Int64Range(1, int64(2*time.Second)).Draw(t, "length")),
			}
		}), 1, 5).Draw(t, "phases")
		at := Times(seed, spacing, phases)
		if !slices.IsSorted(at) || len(at) > 0 && (at[0] < 0 || at[len(at)-1] >= Length(phases)) {
			t.Fatalf("not in order, or outside of %v: %v", Length(phases), at)
		}
		// The number of a Poisson process has the variance of its mean; ten deviations are never seen.
		expected := Expected(phases)
		allowed := 1.0
		if spacing == Poisson {
			allowed = 10*math.Sqrt(expected) + 10
		}
		if math.Abs(float64(len(at))-expected) > allowed {
			t.Fatalf("%d requests, where %.1f are expected", len(at), expected)
		}
		if !slices.Equal(at, Times(seed, spacing, phases)) {
			t.Fatal("the same arguments have other times")
		}
	})
}

// TestPoissonStepsAreExponential compares the steps with their distribution, by the greatest distance of the two
// (Kolmogorov and Smirnov), which is above 3/√n once in ten million.
func TestPoissonStepsAreExponential(t *testing.T) {
	t.Parallel()
	const rate = 1000.
	phases := []Phase{{"", rate, 20 * time.Second}}
	at := Times(7, Poisson, phases)
	if slices.Equal(at, Times(8, Poisson, phases)) {
		t.Error("two seeds have the same times")
	}
	steps := make([]float64, len(at))
	last := time.Duration(0)
	for i, planned := range at {
		steps[i], last = (planned - last).Seconds(), planned
	}
	slices.Sort(steps)
	n, farthest := float64(len(steps)), 0.
	for i, step := range steps {
		farthest = max(farthest, math.Abs(float64(i)/n-(1-math.Exp(-rate*step))))
	}
	if farthest > 3/math.Sqrt(n) {
		t.Errorf("%d steps are %.4f away from an exponential distribution", len(steps), farthest)
	}
}
