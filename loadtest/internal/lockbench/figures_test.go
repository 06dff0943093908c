package lockbench

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"inventory/loadtest/internal/report"
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
		{Name: redsyncName, Figures: Figures{PerSecond: 90}},
		{Name: advisoryName, Figures: Figures{PerSecond: 100}, Note: `it "hung"`},
		{Name: sleeping, Figures: Figures{PerSecond: 1000}},
	}}}}
}

// told is a result as a document, written as JSON.
func told(t *testing.T, r Result) (report.Document, string) {
	t.Helper()
	d, err := r.Document()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := d.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	return d, text.String()
}

func TestJSONHasAllThatIsCommon(t *testing.T) {
	t.Parallel()
	_, text := told(t, sample())
	var got struct {
		Cases []struct {
			Case       string
			Contenders []map[string]any
		}
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, contender := range got.Cases[0].Contenders {
		for _, name := range common() {
			if _, is := contender[name].(float64); !is {
				t.Errorf("%v: %s is %v", contender["name"], name, contender[name])
			}
		}
	}
	if first := got.Cases[0].Contenders[0]; first["extra"] != 1.5 || first["per_second"] != 80. || got.Cases[0].Contenders[2]["note"] != `it "hung"` {
		t.Errorf("%s", text)
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

func TestTheDocumentTellsAll(t *testing.T) {
	t.Parallel()
	d, _ := told(t, sample())
	var text strings.Builder
	if err := d.Print(&text); err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{
		"2 of 3 targets are met", "0.80 times as often as the fastest peer", "note: " + advisoryName + `: it "hung"`, "met: NO", leftOut, "audit: OK",
	} {
		if !strings.Contains(text.String(), says) {
			t.Errorf("no %q in\n%s", says, &text)
		}
	}
	s := d.Sections[0]
	if row := strings.Join(s.Table.Rows[0][:3], " "); row != "inventory mutex 80 0.80" {
		t.Errorf("the row of ours is %q", row)
	}
	if len(d.Figures) != 2 || d.Figures[0].Value != 80 || len(s.Plots) != 2 {
		t.Fatalf("%+v, %d plots", d.Figures, len(s.Plots))
	}
	cycles, waits := s.Plots[0], s.Plots[1]
	if len(cycles.Categories) != 4 || len(cycles.Series[0].Y) != 4 || len(waits.Categories) != 3 || len(waits.Series[2].Y) != 3 || waits.Series[0].Y[0] <= 0 {
		t.Errorf("%+v", s.Plots)
	}
}

// TestAnUnfinishedCaseIsHeldToNothing: who had fewer rounds would look worse, or better.
func TestAnUnfinishedCaseIsHeldToNothing(t *testing.T) {
	t.Parallel()
	r := sample()
	r.Cases[0].Unfinished, r.Interrupted = true, true
	d, text := told(t, r)
	if s := d.Sections[0]; !d.Interrupted || len(s.Targets) != 0 || len(s.Notes) != 2 || !strings.Contains(text, `"unfinished":true`) {
		t.Errorf("%+v: %s", d, text)
	}
}

// TestACutRoundTellsNothing interrupts in the second contender's second round.
func TestACutRoundTellsNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	b := &bench{scale: Scale{Rounds: 3}}
	of := func(name string) entrant {
		return entrant{name, true, func(_ context.Context, round int) (Figures, string) {
			if name == "b" && round == 1 {
				cancel()
			}
			return Figures{PerSecond: float64(round + 1)}, ""
		}}
	}
	got := b.rounds(ctx, []entrant{of("a"), of("b")})
	// The second round begins with the second contender.
	if len(got) != 2 || got[0].Figures[PerSecond] != 1 || got[1].Figures[PerSecond] != 1 {
		t.Errorf("%+v", got)
	}
	if got := b.rounds(ctx, []entrant{of("a")}); len(got) != 0 {
		t.Errorf("after the end: %+v", got)
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
