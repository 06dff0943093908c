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
		Flags: []Flag{{"stock", "10000"}}, Environment: Environment{{"Go", "go1.26"}},
		Summary: []string{"sold"}, Warnings: []string{}, Wrong: []string{},
		Figures: []Figure{{"p99", "ms", 3.5}},
		Sections: []Section{{
			Name:    "buyers",
			Table:   &Table{Columns: []string{"", "a"}, Rows: [][]string{{"b", "1"}}},
			Plots:   []Plot{{Name: "p", Kind: Lines, Series: []Series{{Name: "s", X: []float64{1}, Y: []float64{2}}}}},
			Targets: []Target{AtMost("p99", 3.5, 3)},
		}},
	}
	var text bytes.Buffer
	if err := want.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	var got Document
	if err := json.Unmarshal(text.Bytes(), &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v: got %+v\nwant %+v", err, got, want)
	}
}

// TestJSONHasNullForWhatIsNoNumber: a plot with a gap does not cost a run its report. Lists that are empty are not null.
func TestJSONHasNullForWhatIsNoNumber(t *testing.T) {
	t.Parallel()
	d := Document{Sections: []Section{{Plots: []Plot{{Series: []Series{{Y: []float64{1, math.NaN(), math.Inf(1), 2}}}}}}}}
	var text bytes.Buffer
	if err := d.WriteJSON(&text); err != nil || !strings.Contains(text.String(), `"y":[1,null,null,2]`) || !strings.HasSuffix(text.String(), `"wrong":[]}`+"\n") {
		t.Errorf("%v: got %s, want null for each gap, and an empty list", err, &text)
	}
}

func TestErrorsAreOneLine(t *testing.T) {
	t.Parallel()
	for want, wrong := range map[string][]string{
		"the audit failed: a; b":                {"a\n  more of a", "b"},
		"the audit failed: a; b; c; and 2 more": {"a", "b", "c", "d", "e"},
	} {
		if err := (Document{Wrong: wrong}).Err(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := (Document{}).Err(); err != nil {
		t.Errorf("got %v, want none", err)
	}
}
