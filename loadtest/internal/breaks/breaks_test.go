package breaks

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/servers"
)

// TestFaults lets every fault happen to every lock: each known flaw must show, and none of ours may be broken.
func TestFaults(t *testing.T) { // not parallel: a process that is late has lost its lease
	r, err := Run(t.Context(), experiment.Config{Progress: func(name string) { t.Log(name) }})
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
		if late := b.Fault == kinds.StandsStill; late != (b.Refused == 1) || b.Stale != 0 {
			t.Errorf("%+v", b)
		}
		if b.Fault == kinds.LosesUnlock && b.Waited >= compare.Milliseconds(lease) {
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
	for _, k := range r.kinds {
		if k.Flaw != "" && !slices.ContainsFunc(r.Breaks, func(b Break) bool { return b.Lock == k.Name && b.Broken }) {
			t.Errorf("nothing broke %s", k.Name)
		}
	}
}

func wantDocument(t *testing.T, r Result) {
	t.Helper()
	d, err := r.Document()
	if err != nil {
		t.Fatal(err)
	}
	if !d.AuditOK || d.Interrupted || len(d.Sections) != len(faults())+1 {
		t.Errorf("%+v", d)
	}
	if first := d.Sections[0].Table.Rows[0]; first[0] != kinds.Mutex || !strings.HasPrefix(first[4], "survived: ") {
		t.Errorf("the first row is %q", first)
	}
}

// TestInterrupted stops a run in its middle: its report has what was done until then.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := Run(ctx, experiment.Config{Progress: func(name string) {
		if name == string(kinds.LosesNetwork) { // the last one, so at least one trial is done
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
	r := Result{kinds: kinds.All(servers.URLs{}), Breaks: []Break{
		{Fault: kinds.Dies, Lock: kinds.Mutex, Ours: true, Outcome: "survived: x"},
		{Fault: kinds.Dies, Lock: kinds.Row, Broken: true, Outcome: "broken: x"},
		{Fault: kinds.Dies, Lock: kinds.SetNX, Broken: true, Outcome: "broken: x"},
	}}
	if err := r.Err(); err != nil {
		t.Errorf("what must be is wrong: %v", err)
	}
	for _, b := range []Break{
		{Fault: kinds.Dies, Lock: kinds.Mutex, Ours: true, Broken: true, Outcome: "broken: two inside"},
		{Fault: kinds.Dies, Lock: kinds.Row, Outcome: "survived: it was quick"},
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
	if err == nil || !strings.Contains(err.Error(), `no case "is bored"`) {
		t.Errorf("%v", err)
	}
	if !r.Started.IsZero() {
		t.Errorf("it began with %+v", r)
	}
}
