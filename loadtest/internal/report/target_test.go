package report

import (
	"encoding/json"
	"math"
	"testing"
)

func TestTargetsAsJSON(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal([]Target{AtMost("cost", 2, 2), Target{What: "speed", Value: 0.8, Sign: MoreThan, Bound: 0.85}.judged()})
	want := `[{"what":"cost","value":2,"sign":"at most","bound":2,"verdict":"✓ met"},` +
		`{"what":"speed","value":0.8,"sign":"at least","bound":0.85,"verdict":"✗ missed"}]`
	if err != nil || string(text) != want {
		t.Errorf("%v: %s", err, text)
	}
}

func TestIntervalsDecideTargets(t *testing.T) {
	t.Parallel()
	nobody := math.NaN()
	atLeast := Target{What: "x", Value: 3, Sign: MoreThan, Bound: 2}
	atMost := Target{What: "x", Value: 3, Sign: LessThan, Bound: 4}
	unmeasured := Target{What: "x", Value: nobody, Sign: LessThan, Bound: 4}
	for name, c := range map[string]struct {
		target Target
		want   string
	}{
		"above":            {atLeast.Within(2.5, 3.5), "✓ met: x: 3 (2.5 to 3.5) (target: at least 2)"},
		"around":           {atLeast.Within(1.5, 4.5), "? undecided: x: 3 (1.5 to 4.5) (target: at least 2)"},
		"below":            {atLeast.Within(1, 1.5), "✗ missed: x: 3 (1 to 1.5) (target: at least 2)"},
		"at most, below":   {atMost.Within(2, 4), "✓ met: x: 3 (2 to 4) (target: at most 4)"},
		"at most, around":  {atMost.Within(2, 5), "? undecided: x: 3 (2 to 5) (target: at most 4)"},
		"at most, above":   {atMost.Within(5, 6), "✗ missed: x: 3 (5 to 6) (target: at most 4)"},
		"no interval":      {atMost.Within(nobody, nobody), "? too few rounds: x: 3 (target: at most 4)"},
		"no data":          {unmeasured.Within(nobody, nobody), "✗ missed: x: - (target: at most 4)"},
		"at once":          {AtMost("x", 2, 2), "✓ met: x: 2 (target: at most 2)"},
		"missed, at once":  {AtMost("x", 0.8, 0.7), "✗ missed: x: 0.8 (target: at most 0.7)"},
		"no data, at once": {AtMost("x", nobody, 4), "✗ missed: x: - (target: at most 4)"},
	} {
		if got := c.target.String(); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
