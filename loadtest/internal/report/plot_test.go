package report

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
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

// svg is the plot as an image, of which every element was found to be SVG.
func (p Plot) svg(t interface {
	Helper()
	Fatalf(string, ...any)
},
) (text string, elements map[string]int) {
	t.Helper()
	text, elements = p.inline(), map[string]int{}
	for decoder := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return text, elements
		}
		if err != nil {
			t.Fatalf("%s: %v in %s", p.Name, err, text)
		}
		if start, is := token.(xml.StartElement); is {
			if !strings.Contains(" svg desc g line path rect text circle ", " "+start.Name.Local+" ") {
				t.Fatalf("%s: %v is no element of a plot: %s", p.Name, start.Name, text)
			}
			elements[start.Name.Local]++
			wantNumbers(t, start)
		}
	}
}

// wantNumbers demands that no place on the paper is missing.
func wantNumbers(t interface{ Fatalf(string, ...any) }, e xml.StartElement) {
	for _, a := range e.Attr {
		switch a.Name.Local {
		case "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "d", "width", "height", "viewBox":
			if strings.Contains(a.Value, "N") || strings.Contains(a.Value, "I") { // NaN, Inf
				t.Fatalf("%s of %s is %s", a.Name.Local, e.Name.Local, a.Value)
			}
		}
	}
}

func TestPlotsAreImages(t *testing.T) {
	t.Parallel()
	want := map[string]map[string]int{
		"rate":              {"path": 2, "circle": 0},
		"latency-over-time": {"path": 4, "circle": 0}, // each of two lines has a gap
		"nothing":           {"path": 0},
		"percentiles":       {"path": 3},
		"contenders":        {"rect": 2 + 6}, // legend, and a bar of what is above 0
		"segments":          {"rect": 5},
	}
	for _, p := range sample(1).plots() {
		text, got := p.svg(t)
		for name, n := range want[p.Name] {
			if got[name] != n {
				t.Errorf("%s has %d elements %s, want %d: %s", p.Name, got[name], name, n, text)
			}
		}
		if again, _ := p.svg(t); again != text {
			t.Errorf("%s is drawn in two ways", p.Name)
		}
		delete(want, p.Name)
	}
	if len(want) > 0 {
		t.Errorf("not drawn: %v", want)
	}
}

// TestPlotsAreDescribed demands a description without holes for what has no name.
func TestPlotsAreDescribed(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]Plot{
		"ms by seconds; p50; p99; sold out at 2.5": {
			X: Axis{Label: "seconds"}, Y: Axis{Label: "ms"}, Series: []Series{{Name: "p50"}, {Name: "p99"}}, Marks: []Mark{{X: 2.5, Label: "sold out"}},
		},
		"orders a second": {Kind: Bars, Y: Axis{Label: "orders a second"}, Series: []Series{{}}},
	} {
		if text, _ := p.svg(t); !strings.Contains(text, "<desc>"+want+"</desc>") {
			t.Errorf("want %q in %s", want, text)
		}
	}
}

// TestAnyPlotIsAnImage draws what no scenario should make, too.
func TestAnyPlotIsAnImage(t *testing.T) {
	t.Parallel()
	numbers := rapid.SliceOfN(rapid.OneOf(
		rapid.Float64(), rapid.Float64Range(-10, 1e4),
		rapid.SampledFrom([]float64{0, -1, 1, 100, 5, 5, 5, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64}),
	), 0, 30)
	series := rapid.Custom(func(t *rapid.T) Series {
		return Series{rapid.String().Draw(t, "name"), numbers.Draw(t, "x"), numbers.Draw(t, "y")}
	})
	axis := rapid.Custom(func(t *rapid.T) Axis {
		return Axis{rapid.String().Draw(t, "label"), rapid.Bool().Draw(t, "log")}
	})
	rapid.Check(t, func(t *rapid.T) {
		p := Plot{
			Title: rapid.String().Draw(t, "title"), Kind: rapid.SampledFrom([]PlotKind{Lines, Bars, Percentiles}).Draw(t, "kind"),
			X: axis.Draw(t, "x"), Y: axis.Draw(t, "y"), Categories: rapid.SliceOfN(rapid.String(), 0, 5).Draw(t, "categories"),
			Series: rapid.SliceOfN(series, 0, 10).Draw(t, "series"),
		}
		for _, x := range numbers.Draw(t, "marks") {
			p.Marks = append(p.Marks, Mark{X: x, Label: "mark"})
		}
		text, _ := p.svg(t)
		if len(text) > 1<<20 {
			t.Fatalf("%d bytes: is there an end to its ticks?", len(text))
		}
	})
}

func TestNamesAreNoMarkup(t *testing.T) {
	t.Parallel()
	const name = `</text><script>alert("1")</script>`
	for _, kind := range []PlotKind{Lines, Bars, Percentiles} {
		p := Plot{
			Name: "p", Title: name, Kind: kind, X: Axis{Label: name}, Y: Axis{Label: name}, Categories: []string{name},
			Series: []Series{{Name: name, X: []float64{1}, Y: []float64{1}}}, Marks: []Mark{{X: 1, Label: name}},
		}
		text, elements := p.svg(t)
		if elements["script"] > 0 || strings.Contains(text, "<script") {
			t.Errorf("%s: %s", kind, text)
		}
	}
}

func TestLongRunsAreShortImages(t *testing.T) {
	t.Parallel()
	s := Series{Name: "a day"}
	for i := range 86_400 {
		s.X, s.Y = append(s.X, float64(i)), append(s.Y, 10)
	}
	s.Y[40_000] = 500 // the one second that matters
	p := Plot{Name: "day", Kind: Lines, Series: []Series{s}}
	text, _ := p.svg(t)
	if len(text) > 50_000 {
		t.Errorf("%d bytes", len(text))
	}
	f := p.frame()
	if peak := fmt.Sprintf("L%.2f ", f.across(40_000)); !strings.Contains(text, peak) {
		t.Errorf("the peak is not drawn")
	}
}

// TestWhatBrokeHasAColourOfItsOwn: a mark where something broke looks unlike one that explains something.
func TestWhatBrokeHasAColourOfItsOwn(t *testing.T) {
	t.Parallel()
	p := Plot{Name: "p", Kind: Lines, Series: []Series{{Name: "s", X: []float64{0, 9}, Y: []float64{1, 2}}}}
	p.Marks = []Mark{{X: 2, Label: "opens"}, {X: 5, Label: "killed", Broke: true}}
	text, _ := p.svg(t)
	if lines, labels := strings.Count(text, `"s6 mark broke"`), strings.Count(text, `"mark-label broke"`); lines != 2 || labels != 1 {
		t.Errorf("%d lines and %d labels of what broke: %s", lines, labels, text)
	}
}
