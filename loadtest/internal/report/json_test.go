package report

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

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
