package lockbench

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/report"
)

// of is a contender that measures the same in each round.
func of(name string, ours bool, f experiment.Sample, err error) experiment.Contender {
	return experiment.Contender{Name: name, Ours: ours, Play: func(context.Context, time.Duration) (experiment.Sample, error) { return f, err }}
}

// sample has one contender of each sort.
func sample(t *testing.T) Result {
	t.Helper()
	q := questions()[0]
	c := q.caseOf([]experiment.Contender{
		of("inventory mutex", true, experiment.Sample{PerSecond: 80, WaitP99: 0.1, Commands: 2, Violations: 0}, nil),
		of(kinds.Redsync, false, experiment.Sample{PerSecond: 90, WaitP99: 0.2}, nil),
		of(kinds.Advisory, false, experiment.Sample{PerSecond: 100, WaitP99: 0}, nil),
		of(sleeping, false, experiment.Sample{PerSecond: 1000}, nil),
	})
	r := experiment.Run(t.Context(), c, experiment.Rules{Rounds: 6})
	r.Name, r.Wrong = q.name, wrong(r)
	return Result{Report: experiment.Report{Results: []experiment.Result{r}}}
}

// TestWrongsAreAddedUp: a mean of violations would hide those of a single round.
func TestWrongsAreAddedUp(t *testing.T) {
	t.Parallel()
	n := 0
	e := experiment.Contender{Name: mutexName, Ours: true, Play: func(context.Context, time.Duration) (experiment.Sample, error) {
		n++
		return experiment.Sample{PerSecond: float64(n), Violations: float64(n % 2)}, nil
	}}
	r := experiment.Run(t.Context(), questions()[0].caseOf([]experiment.Contender{e}), experiment.Rules{Rounds: 4})
	if r.Of(mutexName, PerSecond).Value != 2.5 || r.Of(mutexName, Violations).Value != 2 {
		t.Errorf("%v", r.Rounds)
	}
	if got := wrong(r); len(got) != 1 || got[0] != "inventory mutex let two in at once, 2 times" {
		t.Errorf("%q", got)
	}
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

func TestJSONHasAllThatWasMeasured(t *testing.T) {
	t.Parallel()
	_, text := told(t, sample(t))
	var got struct {
		Cases []struct {
			Case       string
			Contenders []map[string]any
		}
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if len(got.Cases[0].Contenders) != 4 {
		t.Errorf("%s", text)
	}
	for name, want := range map[string]any{
		"name": mutexName, "ours": true, "per_second": 80., "wait_p99_ms": 0.1, "commands_per_acquisition": 2., "violations": 0., "ratio_to_best_peer": 0.8,
	} {
		value := got.Cases[0].Contenders[0][name]
		if n, is := value.(float64); is {
			value = float64(int(n*1000+0.5)) / 1000
		}
		if value != want {
			t.Errorf("%s: %v instead of %v", name, value, want)
		}
	}
}

func TestTargetsCompareWithTheBest(t *testing.T) {
	t.Parallel()
	var got []string
	for _, target := range sample(t).Targets() {
		got = append(got, target.String())
	}
	want := []string{
		"cycles, in parts of the fastest library's: 0.889 (0.889 to 0.889) (target: at least 0.85), met: yes",
		"cycles, in parts of the fastest peer's: 0.8 (0.8 to 0.8) (target: at least 0.85), met: NO",
		"commands a cycle: 2 (2 to 2) (target: at most 2), met: yes",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", got)
	}
}

// TestATargetOnMissingDataIsMissed: without data, nothing would be less than any bound.
func TestATargetOnMissingDataIsMissed(t *testing.T) {
	t.Parallel()
	for _, q := range questions() {
		c := q.caseOf([]experiment.Contender{of("nobody", true, experiment.Sample{}, nil), of("nobody else", true, experiment.Sample{}, nil)})
		for _, target := range experiment.Run(t.Context(), c, experiment.Rules{Rounds: 6}).Targets() {
			if target.Met || target.Undecided {
				t.Errorf("case %q: %s", q.name, target)
			}
		}
	}
}

func TestTheDocumentTellsAll(t *testing.T) {
	t.Parallel()
	r := sample(t)
	r.Results[0].Failed[kinds.Advisory] = errors.New(`it "hung"`)
	d, _ := told(t, r)
	var text strings.Builder
	if err := d.Print(&text); err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{
		"2 of 3 targets are met", "0.8 (0.8 to 0.8) times " + kinds.Advisory, `failed: it "hung"`, "met: NO", leftOut, "audit: OK",
	} {
		if !strings.Contains(text.String(), says) {
			t.Errorf("no %q in\n%s", says, &text)
		}
	}
	s := d.Sections[0]
	if row := s.Table.Rows[0]; row[0] != mutexName || row[1] != "80 (80 to 80)" || row[len(row)-1] != "0.8 (0.8 to 0.8)" {
		t.Errorf("the row of ours is %q", row)
	}
	if len(d.Figures) != 2 || d.Figures[0].Value != 80 || len(s.Plots) != 2 {
		t.Fatalf("%+v, %d plots", d.Figures, len(s.Plots))
	}
	cycles, waits := s.Plots[0], s.Plots[1]
	if len(cycles.Categories) != 4 || len(cycles.Series[0].Y) != 4 || waits.Series[0].Y[2] <= 0 {
		t.Errorf("%+v", s.Plots)
	}
}

// TestAnUnfinishedCaseIsHeldToNothing: a contender with fewer rounds would look worse, or better.
func TestAnUnfinishedCaseIsHeldToNothing(t *testing.T) {
	t.Parallel()
	r := sample(t)
	r.Results[0].Interrupted, r.Interrupted = true, true
	d, text := told(t, r)
	if s := d.Sections[0]; !d.Interrupted || len(s.Targets) != 0 || len(s.Notes) != 1 || !strings.Contains(text, `"unfinished":true`) {
		t.Errorf("%+v: %s", d, text)
	}
}

func TestWhatOursMayNotDo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		who  string
		says string
	}{"a peer's violations are its own affair": {kinds.Redsync, ""}, "ours": {mutexName, "inventory mutex let two in at once, 12 times"}} {
		r := sample(t)
		for _, round := range r.Results[0].Rounds {
			round[c.who] = experiment.Sample{PerSecond: 1, Violations: 2}
		}
		r.Results[0].Wrong = wrong(r.Results[0])
		if err := r.Err(); (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnknownCases(t *testing.T) {
	t.Parallel()
	if err := experiment.Check(Names(), []string{"one caller", "two"}); err == nil || !strings.Contains(err.Error(), `"two"`) {
		t.Error(err)
	}
	if err := experiment.Check(Names(), []string{"16 clients"}); err != nil {
		t.Error(err)
	}
}
