package report

import (
	"encoding/json"
	"testing"
)

func TestTargetsTellTheirVerdict(t *testing.T) {
	t.Parallel()
	met, missed := AtMost("cost", 2, 2), AtLeast("speed", 0.8, 0.85)
	text, err := json.Marshal([]Target{met, missed})
	want := `[{"what":"cost","value":2,"sign":"at most","bound":2,"met":true},` +
		`{"what":"speed","value":0.8,"sign":"at least","bound":0.85,"met":false}]`
	if err != nil || string(text) != want {
		t.Errorf("%v: %s", err, text)
	}
	if got := met.String(); got != "cost: 2 (target: at most 2), met: yes" {
		t.Error(got)
	}
	if got := missed.Markdown(); got != "- speed: 0.8 (target: at least 0.85), **missed**" {
		t.Error(got)
	}
}
