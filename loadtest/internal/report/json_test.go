package report

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestJSONComesBack(t *testing.T) {
	t.Parallel()
	want := Document{
		Schema: Schema, Scenario: "flash-sale", Started: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), Elapsed: 12.5, Seed: 1 << 63,
		Flags:   []Flag{{"stock", "10000"}},
		Summary: []string{"sold"}, Warnings: []string{}, Wrong: []string{}, AuditOK: true,
		Figures: []Figure{{"p99", "ms", 3.5}},
		Sections: []Section{{
			Name:    "buyers",
			Table:   &Table{Columns: []string{"", "a"}, Rows: [][]string{{"b", "1"}}},
			Plots:   []Plot{{Name: "p", Kind: Lines, Series: []Series{{Name: "s", X: []float64{1}, Y: []float64{2}}}}},
			Targets: []Target{AtMost("p99", 3.5, 3)},
		}},
	}
	if err := want.SetOwn(map[string]int{"lines": 7}); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := want.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(text.Bytes(), &members); err != nil || members["lines"] != 7. || members["stock"] != nil {
		t.Errorf("%v: the scenario's own member is not at the top: %s", err, &text)
	}
	got, err := Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// TestGapsComeBack writes what JSON has no word for: a plot with a gap does not cost a run its report.
func TestGapsComeBack(t *testing.T) {
	t.Parallel()
	d := Document{Sections: []Section{{Plots: []Plot{{Series: []Series{{Y: []float64{1, math.NaN(), math.Inf(1), 2}}}}}}}}
	if err := d.SetOwn(map[string]float64{"ratio": math.Inf(1)}); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := d.WriteJSON(&text); err != nil || !strings.Contains(text.String(), `"y":[1,null,null,2]`) {
		t.Fatalf("%v: %s", err, &text)
	}
	got, err := Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	y := got.plots()[0].Series[0].Y
	if len(y) != 4 || y[0] != 1 || !math.IsNaN(y[1]) || !math.IsNaN(y[2]) || y[3] != 2 {
		t.Errorf("%v", y)
	}
}

// TestADocumentWithoutMembersOfItsOwn has lists that are empty, and not null.
func TestADocumentWithoutMembersOfItsOwn(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	if err := (Document{Scenario: "locks"}).WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(text.String(), `"wrong":[]}`+"\n") || strings.Contains(text.String(), "null") {
		t.Errorf("%s", &text)
	}
}

func TestReadRefusesOtherSchemas(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{`:                            "not a report of the lab",
		`{"lines":3}`:                  `no "schema"`,
		`{"schema":"inventory-lab/9"}`: "where this program knows " + Schema,
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", text, err, want)
		}
	}
}
