package lockbench

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestWrongsAreAddedUp: a median of violations would lose those of a single round.
func TestWrongsAreAddedUp(t *testing.T) {
	t.Parallel()
	got := overall([]Figures{{PerSecond: 1, Violations: 0}, {PerSecond: 5, Violations: 2}, {PerSecond: 3, Violations: 0}})
	if got[PerSecond] != 3 || got[Violations] != 2 {
		t.Errorf("%v", got)
	}
}

// sample has one contender of each sort.
func sample() Result {
	return Result{Cases: []Case{{Name: "one caller", Contenders: []Contender{
		{Name: "inventory mutex", Ours: true, Figures: Figures{PerSecond: 80, Commands: 2, "extra": 1.5}},
		{Name: "slow", Figures: Figures{PerSecond: 90}},
		{Name: advisoryName, Figures: Figures{PerSecond: 100}, Note: `it "hung"`},
		{Name: sleeping, Figures: Figures{PerSecond: 1000}},
	}}}}
}

func TestJSONHasAllThatIsCommon(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	if err := sample().PrintJSON(&text); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Cases []struct {
			Case       string
			Contenders []map[string]any
		}
	}
	if err := json.Unmarshal([]byte(text.String()), &got); err != nil {
		t.Fatalf("%v: %s", err, &text)
	}
	for _, contender := range got.Cases[0].Contenders {
		for _, name := range common() {
			if _, is := contender[name].(float64); !is {
				t.Errorf("%v: %s is %v", contender["name"], name, contender[name])
			}
		}
	}
	if first := got.Cases[0].Contenders[0]; first["extra"] != 1.5 || first["per_second"] != 80. || got.Cases[0].Contenders[2]["note"] != `it "hung"` {
		t.Errorf("%s", &text)
	}
}

func TestTargetsCompareWithTheBest(t *testing.T) {
	t.Parallel()
	var got []string
	for _, target := range sample().Cases[0].Targets() {
		got = append(got, target.String())
	}
	want := []string{
		"cycles, in parts of the fastest library's: 0.889 (target: at least 0.85), met: yes",
		"cycles, in parts of the fastest peer's: 0.8 (target: at least 0.85), met: NO",
		"commands a cycle: 2 (target: at most 2), met: yes",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", got)
	}
}

func TestTheDocumentAroundTheTablesStays(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- locks: begin -->\n", "<!-- locks: end -->\n"
	document := sample().Into("before\n" + begin + "old\n" + end + "after\n")
	for _, says := range []string{"before\n" + begin, end + "after\n", "| inventory mutex | 80 | 0.80 |", "**missed**"} {
		if !strings.Contains(document, says) {
			t.Errorf("no %q in\n%s", says, document)
		}
	}
	if strings.Contains(document, "old") {
		t.Errorf("%s", document)
	}
}

func TestWhatOursMayNotDo(t *testing.T) {
	t.Parallel()
	r := sample()
	r.Cases[0].Contenders[1].Figures[Violations] = 3 // a peer's are its own affair
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	r.Cases[0].Contenders[0].Figures[Violations] = 2
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "inventory mutex let two in at once, 2 times") {
		t.Error(err)
	}
}

func TestUnknownCases(t *testing.T) {
	t.Parallel()
	if _, err := choose([]string{"one caller", "two"}); err == nil || !strings.Contains(err.Error(), `"two"`) {
		t.Error(err)
	}
	if chosen, err := choose([]string{"16 clients"}); err != nil || len(chosen) != 1 || chosen[0].name != "16 clients" {
		t.Error(chosen, err)
	}
}
