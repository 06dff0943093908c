//go:build citus

package contenders

import "testing"

// TestCitusIsCompared with one PostgreSQL, in all mixes.
func TestCitusIsCompared(t *testing.T) {
	result, d := measure(t, GeneratorLab, citusCase)
	if len(result.LeftOut) > 0 || len(d.InProcess) != 3*4*2 || len(d.Rows) != 4*2 {
		t.Errorf("left out %q, %d entries, targets %+v", result.LeftOut, len(d.InProcess), d.Rows)
	}
	for _, e := range d.InProcess {
		if sold, _ := e["accepted"].(float64); sold == 0 || e["note"] != nil {
			t.Errorf("%v", e)
		}
	}
}
