package breaks

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/kinds"
)

func holders() []string { return []string{os.Args[0], asHolder} }

// TestFaults lets every fault happen to every lock: each known flaw must show, and none of ours may be broken.
func TestFaults(t *testing.T) { // not parallel: a process that is late has lost its lease
	r, err := Run(t.Context(), experiment.Config{Worker: holders(), Progress: func(name string) { t.Log(name) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	wantFlaws(t, r)
	ours := map[string]int{} // by how many faults each was met
	for _, b := range r.Breaks {
		if word, _, _ := strings.Cut(b.Outcome, ":"); !slices.Contains([]string{"broken", "survived", "refused"}, word) || b.Broken != (word == "broken") {
			t.Errorf("%+v", b)
		}
		if !b.Ours {
			continue
		}
		ours[b.Lock]++
		if late := b.Fault == "stands still, then writes"; late != (b.Refused == 1) || b.Stale != 0 {
			t.Errorf("%+v", b)
		}
		if b.Fault == "loses its unlock" && b.Waited >= compare.Milliseconds(lease) {
			t.Errorf("a lost unlock was repeated too late: %+v", b)
		}
	}
	if len(ours) != 6 {
		t.Errorf("of ours there are only %v", ours)
	}
	for name, met := range ours {
		if met < len(faults()) {
			t.Errorf("%s has met %d faults only", name, met)
		}
	}
	wantDocument(t, r)
}

// wantFlaws demands that each lock of others was broken by something.
func wantFlaws(t *testing.T, r Result) {
	t.Helper()
	servers := map[string]string{kinds.Sequential: "ZooKeeper", kinds.Document: "MongoDB"} // that are not everywhere
	for _, f := range flaws() {
		absent := slices.ContainsFunc(r.LeftOut, func(line string) bool {
			return servers[f.Name] != "" && strings.Contains(line, "on "+servers[f.Name]+" ")
		})
		broken := slices.ContainsFunc(r.Breaks, func(b Break) bool { return b.Lock == f.Name && b.Broken })
		if !broken && !absent {
			t.Errorf("nothing broke %s", f.Name)
		}
	}
}

func wantDocument(t *testing.T, r Result) {
	t.Helper()
	d, err := r.Document()
	if err != nil {
		t.Fatal(err)
	}
	var text, json strings.Builder
	if err := errors.Join(d.Print(&text), d.WriteJSON(&json)); err != nil {
		t.Fatal(err)
	}
	t.Log(text.String())
	if !d.AuditOK || d.Interrupted || len(d.Sections) != len(faults())+1 {
		t.Errorf("%+v", d)
	}
	for _, says := range []string{`"breaks":[{"fault":"dies while it holds","lock":"inventory mutex","ours":true,"broken":false,"outcome":"survived: `, `"stale_writes":1`} {
		if !strings.Contains(json.String(), says) {
			t.Errorf("no %s in %s", says, &json)
		}
	}
}

// TestInterrupted stops a run in its middle: its report has what was done until then.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := Run(ctx, experiment.Config{Worker: holders(), Progress: func(name string) {
		if name == "loses its connection" { // the last one, so at least one trial is done
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "\n") {
		t.Errorf("stopped with: %v", err)
	}
	d, err := r.Document()
	if err != nil {
		t.Fatal(err)
	}
	if !d.Interrupted || len(r.Breaks) == 0 || len(d.Sections) == 0 {
		t.Errorf("%d breaks, %+v", len(r.Breaks), d)
	}
}

func TestWhatIsWrong(t *testing.T) {
	t.Parallel()
	r := Result{faults: faults(), Breaks: []Break{
		{Fault: "dies while it holds", Lock: "inventory mutex", Ours: true, Outcome: "survived: x"},
		{Fault: "dies while it holds", Lock: kinds.Row, Broken: true, Outcome: "broken: x"},
		{Fault: "dies while it holds", Lock: kinds.SetPX, Broken: true, Outcome: "broken: x"},
	}}
	if err := r.Err(); err != nil {
		t.Errorf("what must be is wrong: %v", err)
	}
	for _, b := range []Break{
		{Fault: "dies while it holds", Lock: "inventory mutex", Ours: true, Broken: true, Outcome: "broken: two inside"},
		{Fault: "dies while it holds", Lock: kinds.Row, Outcome: "survived: it was quick"},
	} {
		r.Breaks[0] = b
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), b.Lock) || !strings.Contains(err.Error(), b.Outcome) {
			t.Errorf("%+v: %v", b, err)
		}
	}
}

func TestUnknownFault(t *testing.T) {
	t.Parallel()
	r, err := Run(t.Context(), experiment.Config{Cases: []string{"is bored"}})
	if err == nil || !strings.Contains(err.Error(), `no fault "is bored"`) {
		t.Errorf("%v", err)
	}
	if !r.Started.IsZero() {
		t.Errorf("it began with %+v", r)
	}
}
