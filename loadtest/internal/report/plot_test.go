package report

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// plots are all of a document.
func (d Document) plots() (all []Plot) {
	for _, s := range d.Sections {
		all = append(all, s.Plots...)
	}
	return all
}

// wantDrawing demands that a plot is SVG without a place that is no number, and returns its text.
func wantDrawing(t interface{ Fatalf(string, ...any) }, p Plot) string {
	text, err := p.svg()
	if err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
	for decoder := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return text
		}
		if err != nil {
			t.Fatalf("%s: %v in %s", p.Name, err, text)
		}
		start, _ := token.(xml.StartElement)
		for _, a := range start.Attr {
			if strings.Contains("x y d width height transform", a.Name.Local) && (strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf")) {
				t.Fatalf("%s: %s of %s is %s", p.Name, a.Name.Local, start.Name.Local, a.Value)
			}
		}
	}
}

func TestPlotsTellWhatIsInThem(t *testing.T) {
	t.Parallel()
	want := map[string][]string{
		"rate":              {"answers per second", "sold out", "retries begin"},
		"latency-over-time": {">100<", "p99 of accepted"},
		"contenders":        {"one row, no lock", "one Redis lock, bsm…, by three processes", "80,548", "512 callers", ">10,000<"},
		"segments":          {">16<", "15,400"},
	}
	for _, p := range sample().plots() {
		text := wantDrawing(t, p)
		for _, says := range want[p.Name] {
			if !strings.Contains(text, says) {
				t.Errorf("%s does not say %q in %s", p.Name, says, text)
			}
		}
	}
}

// TestAnyNumbersCanBeDrawn, also those that are none.
func TestAnyNumbersCanBeDrawn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, -1, 100, math.NaN(), math.Inf(1), math.MaxFloat64}), rapid.Float64Range(-10, 1e6))
		values := rapid.SliceOfN(value, 0, 5)
		p := Plot{
			Name: "any", Kind: rapid.SampledFrom([]PlotKind{Lines, Dots}).Draw(t, "kind"), Y: Axis{Log: rapid.Bool().Draw(t, "log")},
			Categories: []string{"a", "b"}, Series: []Series{{"s", values.Draw(t, "x"), values.Draw(t, "y"), values.Draw(t, "low"), values.Draw(t, "high")}},
			Marks: []Mark{{X: value.Draw(t, "mark"), To: value.Draw(t, "to"), Label: "m"}},
		}
		wantDrawing(t, p)
	})
}

// TestNoTwoLabelsLookAlike: long labels are cut, unless that hides what they differ in.
func TestNoTwoLabelsLookAlike(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ categories, want []string }{
		"short":             {[]string{"a", "b"}, []string{"b", "a"}},
		"long":              {[]string{"an afternoon's over HTTP, uniform over 1,000, 64 callers"}, []string{"an afternoon's over…er 1,000, 64 callers"}},
		"differ in the end": {[]string{strings.Repeat("x", 50) + " 64", strings.Repeat("x", 50) + " 512"}, []string{strings.Repeat("x", 19) + "…" + strings.Repeat("x", 16) + " 512", strings.Repeat("x", 19) + "…" + strings.Repeat("x", 17) + " 64"}},
		"differ inside": {
			[]string{strings.Repeat("x", 30) + "1" + strings.Repeat("x", 30), strings.Repeat("x", 30) + "2" + strings.Repeat("x", 30)},
			[]string{strings.Repeat("x", 30) + "2" + strings.Repeat("x", 30), strings.Repeat("x", 30) + "1" + strings.Repeat("x", 30)},
		},
	} {
		if got := (Plot{Categories: c.categories}).shortened(); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

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

func TestTables(t *testing.T) {
	t.Parallel()
	table := Table{Columns: []string{"", "per second"}, Rows: [][]string{{"one", Number(12345.6)}, {"two", Number(0.123456)}}}
	if got := table.Text(); got != "       per second\n  one      12,346\n  two       0.123\n" {
		t.Errorf("%q", got)
	}
}
