package compare

import (
	"math"
	"testing"
)

func TestMeasuresAreToldByTheirDefinition(t *testing.T) {
	t.Parallel()
	wait := Measure[float64]{Name: "wait", Unit: "ms", Of: func(r float64) float64 { return r }, Figure: true}
	other := Measure[float64]{Name: "lost", Of: func(r float64) float64 { return 2 * r }}
	rounds := []float64{3, 1, 2}
	for name, c := range map[string]struct{ got, want string }{
		"words":        {wait.Words(rounds), "2 ms (median of 3 rounds, 1 to 3)"},
		"words of one": {wait.Words(rounds[:1]), "3 ms"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q instead of %q", name, c.got, c.want)
		}
	}
	all := []Measure[float64]{wait, other}
	if f := Figures(all, rounds); len(f) != 1 || f[0].Name != "wait" || f[0].Unit != "ms" || f[0].Value != 2 {
		t.Errorf("%+v", f)
	}
	if f := Figures(all, []float64{1, math.NaN()}); len(f) > 0 {
		t.Errorf("not known, and told: %+v", f)
	}
}
