package report

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOverlayHasTheSeriesOfBoth(t *testing.T) {
	t.Parallel()
	this, other := sample(1), sample(1.4)
	other.Sections = other.Sections[1:] // of a version without sections over time
	before := sample(1)
	laid := Overlay(this, other)
	for _, want := range []struct {
		plot   string
		series []string
	}{
		{"rate", []string{"accepted", "sold out"}}, // only this run has it
		{"percentiles", []string{"accepted", "accepted (other)", "sold out", "sold out (other)", "replayed", "replayed (other)"}},
		{"segments", []string{"this run", "other run"}},
	} {
		plots := laid.plots()
		i := slices.IndexFunc(plots, func(p Plot) bool { return p.Name == want.plot })
		var names []string
		for _, s := range plots[i].Series {
			names = append(names, s.Name)
			if other := strings.Contains(s.Name, "other"); other != s.Other {
				t.Errorf("%s of %s is of the other run: %v", s.Name, want.plot, s.Other)
			}
		}
		if !slices.Equal(names, want.series) {
			t.Errorf("%s has %q, want %q", want.plot, names, want.series)
		}
	}
	if !reflect.DeepEqual(this.Figures, before.Figures) || len(this.Sections) != 3 || len(this.Sections[1].Plots[0].Series) != 3 {
		t.Error("this run's document has changed")
	}
}

func TestOverlayComparesFigures(t *testing.T) {
	t.Parallel()
	this := Document{
		AuditOK: true, Flags: []Flag{{"stock", "100"}, {"rate", "5"}}, Environment: Environment{Revision: "b"},
		Figures: []Figure{{"p99", "ms", 30}, {"rate", "1/s", 5}, {"new", "", 1}, {"zero", "", 3}},
	}
	other := Document{
		Started: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), Elapsed: 90, Interrupted: true, Seed: 7,
		Flags: []Flag{{"stock", "200"}, {"rate", "5"}, {"burst", "3"}}, Environment: Environment{Revision: "a", Redis: "7"},
		Figures: []Figure{{"rate", "1/s", 4}, {"p99", "ms", 60}, {"old", "", 9}, {"zero", "", 0}},
	}
	got := Overlay(this, other).Sections[0]
	rows := [][]string{
		{"p99, ms", "30", "60", "0.5"}, {"rate, 1/s", "5", "4", "1.25"}, {"new", "1", "-", "-"}, {"zero", "3", "0", "-"}, {"old", "-", "9", "-"},
	}
	if got.Name != "compared" || !reflect.DeepEqual(got.Table.Rows, rows) {
		t.Errorf("%s: %q, want %q", got.Name, got.Table.Rows, rows)
	}
	notes := []string{
		"the other run: started Sun, 01 Nov 2026 12:00:00 UTC, took 1m30s", "the other run was interrupted",
		"the audit of the other run FAILED", "seed: 0 here, 7 there", "--stock: 100 here, 200 there", "--burst: none here, 3 there",
		"revision: b here, a there", "Redis: none here, 7 there",
	}
	if !slices.Equal(got.Notes, notes) {
		t.Errorf("notes %q\nwant %q", got.Notes, notes)
	}
}

// TestOverlayTellsWhatDiffers: of several lines of one name, those that both runs have are no difference.
func TestOverlayTellsWhatDiffers(t *testing.T) {
	t.Parallel()
	this, other := Document{AuditOK: true}, Document{AuditOK: true}
	this.Environment.Measurement = []string{"fsync as it is", "poisson arrivals", "5 rounds"}
	other.Environment.Measurement = []string{"fsync as it is", "poisson arrivals", "3 rounds"}
	if notes := Overlay(this, this).Sections[0].Notes; len(notes) != 1 {
		t.Errorf("a run differs from itself: %q", notes[1:])
	}
	want := []string{"measurement: 5 rounds here, 3 rounds there"}
	if notes := Overlay(this, other).Sections[0].Notes; !slices.Equal(notes[1:], want) {
		t.Errorf("%q, want %q", notes[1:], want)
	}
}

// TestOverlayMatchesCategories lays runs over each other of which one had other contenders.
func TestOverlayMatchesCategories(t *testing.T) {
	t.Parallel()
	plot := func(categories []string, values ...float64) Document {
		p := Plot{Name: "bars", Kind: Bars, Categories: categories, Series: []Series{{Name: "rate", Y: values}}}
		return Document{Sections: []Section{{Plots: []Plot{p}}}}
	}
	got := Overlay(plot([]string{"a", "b"}, 1, 2), plot([]string{"c", "b"}, 30, 20)).plots()[0]
	if !slices.Equal(got.Categories, []string{"a", "b", "c"}) || !slices.Equal(got.Series[0].Y, []float64{1, 2}) {
		t.Errorf("%+v", got)
	}
	if y := got.Series[1].Y; len(y) != 3 || !math.IsNaN(y[0]) || y[1] != 20 || y[2] != 30 {
		t.Errorf("the other run's bars are %v", y)
	}
}

func TestOverlayMarksAnInstantOnce(t *testing.T) {
	t.Parallel()
	got := overlayPlot(Plot{Marks: []Mark{{X: 0, Label: "begin"}, {X: 8, Label: "sold out"}}},
		Plot{Marks: []Mark{{X: 0, Label: "begin"}, {X: 9, Label: "sold out"}}}).Marks
	want := []Mark{{X: 0, Label: "begin"}, {X: 8, Label: "sold out"}, {X: 9, Label: "sold out (other)", Other: true}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestOnlyOneScenarioIsComparable(t *testing.T) {
	t.Parallel()
	if err := Comparable("tail", "tail"); err != nil {
		t.Error(err)
	}
	if err := Comparable("tail", "soak"); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}
