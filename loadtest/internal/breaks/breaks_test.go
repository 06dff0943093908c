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
)

// TestFaults lets every fault happen to every lock: each known flaw must show, and none of ours may be broken.
func TestFaults(t *testing.T) { // not parallel: a process that is late has lost its lease
	r, err := run(t.Context(), experiment.Config{Progress: func(name string) { t.Log(name) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	wantFlaws(t, r)
	ours := map[string]int{} // by how many faults each was met
	for _, b := range r.breaks {
		if word, _, _ := strings.Cut(b.Outcome, ":"); !slices.Contains([]string{"broken", "survived", "refused"}, word) || b.broken() != (word == "broken") {
			t.Errorf("%+v", b)
		}
		if !b.Ours {
			continue
		}
		ours[b.Lock]++
		if late := b.Fault == standsStill; late != b.Late || b.Accepted {
			t.Errorf("%+v", b)
		}
		if b.Fault == losesUnlock && b.Waited >= compare.Milliseconds(lease) {
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
func wantFlaws(t *testing.T, r result) {
	t.Helper()
	for _, k := range r.kinds {
		if k.Flaw != "" && !slices.ContainsFunc(r.breaks, func(b Break) bool { return b.Lock == k.Name && b.broken() }) {
			t.Errorf("nothing broke %s", k.Name)
		}
	}
}

func wantDocument(t *testing.T, r result) {
	t.Helper()
	if r.Interrupted || len(r.Sections) != 1 {
		t.Fatalf("interrupted: %t, want false; %d sections, want 1", r.Interrupted, len(r.Sections))
	}
	matrix := r.Sections[0].Table
	if first := matrix.Rows[0]; len(matrix.Rows) != len(r.kinds) || len(first) != len(faults())+1 || first[0] != kinds.Mutex || !strings.HasPrefix(first[1], "✓ free after ") {
		t.Errorf("the first of %d rows is %q", len(matrix.Rows), first)
	}
}

// TestInterrupted stops a run in its middle: its report has what was done until then.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := run(ctx, experiment.Config{Progress: func(name string) {
		if name == losesNetwork { // the last one, so at least one trial is done
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "\n") {
		t.Errorf("stopped with: %v", err)
	}
	if !r.Interrupted || len(r.breaks) == 0 || len(r.Sections) == 0 {
		t.Errorf("interrupted: %t, want true; %d breaks and %d sections, want some", r.Interrupted, len(r.breaks), len(r.Sections))
	}
}

func TestWhatIsWrong(t *testing.T) {
	t.Parallel()
	r := result{breaks: []Break{
		{Fault: dies, Lock: kinds.Mutex, Ours: true, Outcome: "survived: x"},
		{Fault: standsStill, Lock: kinds.SetNX, Outcome: "broken: x"},
		{Fault: dies, Lock: kinds.SetNX, Outcome: "broken: x"},
	}}
	if wrong := r.wrong(); len(wrong) > 0 {
		t.Errorf("wrong: %q, want nothing", wrong)
	}
	for _, b := range []Break{
		{Fault: dies, Lock: kinds.Mutex, Ours: true, Outcome: "broken: two inside"},
		{Fault: standsStill, Lock: kinds.Redsync, Outcome: "survived: it was quick"},
	} {
		r.breaks[0] = b
		if wrong := strings.Join(r.wrong(), "; "); !strings.Contains(wrong, b.Lock) || !strings.Contains(wrong, b.Outcome) {
			t.Errorf("wrong: %q, want %s with %q", wrong, b.Lock, b.Outcome)
		}
	}
}
