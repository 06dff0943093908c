package report

import "testing"

func TestPlotNamesArePlain(t *testing.T) {
	t.Parallel()
	for want, words := range map[string][]string{
		"10-000-holds-wait": {"10,000 holds", "wait"},
		"over-http-p99":     {"over HTTP", "p99"},
		"one":               {" one/ "},
	} {
		if got := PlotName(words...); got != want {
			t.Errorf("of %q: %q", words, got)
		}
	}
}
