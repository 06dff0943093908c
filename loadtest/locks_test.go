package main

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"inventory/internal/cli"
	"inventory/loadtest/internal/breaks"
	"inventory/loadtest/internal/lockbench"
	"inventory/loadtest/internal/report"
)

// TestAllLocksTakePart runs the program as a person does: it starts itself as the other processes.
func TestAllLocksTakePart(t *testing.T) { // not parallel: it needs the processor for itself
	want := lockbench.Names()
	if testing.Short() {
		want = []string{"one caller", "3 processes"}
	}
	d, _ := runProgram(t, "locks", "--quick", "--tiny", "--case", strings.Join(want, ";"))
	var names []string
	for _, s := range d.Sections[1:] { // the first one is about all of them
		names = append(names, s.Name)
		for _, row := range s.Table.Rows {
			wantWork(t, s, row)
		}
	}
	if strings.Join(names, ", ") != strings.Join(want, ", ") {
		t.Errorf("the cases are %q, want %q", names, want)
	}
	if len(d.Flags) < 5 || d.Environment.Of("Redis") == "" {
		t.Errorf("%+v", d)
	}
}

// wantWork demands that a contender took part, and each of ours got its lock, that nothing went wrong, and that it kept others out.
// On a busy machine the first one may get a lock after the end of so short a window: then most waits are longer than it.
func wantWork(t *testing.T, s report.Section, row []string) {
	t.Helper()
	cell := func(column string) string { return row[slices.Index(s.Table.Columns, column)] }
	waited, err := strconv.ParseFloat(strings.ReplaceAll(cell("wait p50 ms"), ",", ""), 64)
	late := err == nil && waited > 100 && cell("commands per acquisition") != "-" // than the window, and it was got
	if done := cell("per second"); done == "-" || strings.HasPrefix(done, "0") && strings.HasPrefix(row[0], "inventory") && !late {
		t.Errorf("%s: %s did nothing: %q", s.Name, row[0], row)
	}
	if cell("violations") != "0" || slices.ContainsFunc(s.Notes, func(note string) bool { return strings.HasPrefix(note, "failed: ") }) {
		t.Errorf("%s: %s went wrong: %q, %q", s.Name, row[0], row, s.Notes)
	}
}

// TestLocksBreak lets every fault happen to every lock on Redis: the known flaw of each must show, and none of ours may be broken.
func TestLocksBreak(t *testing.T) { // not parallel: a process that is late has lost its lease
	got := runWith(t.Context(), "locks", "--break", "--json=-")
	if got.code != 0 {
		t.Fatalf("%+v", got)
	}
	d := readReport(t, got.out)
	// A lost unlock is repeated within the lease, of 1,000 ms.
	ours := []string{"^inventory ", "^✓ free after [0-9,.]+ ms$", "^✓ late write refused, holder told$", "^✓ free after [0-9.]+ ms$", "^✓ kept for 2s, and given back$"}
	others := []string{"^(bsm/redislock|redsync|SET NX)$", "^[✓✗] ", "^✗ both wrote", "^[✓✗] ", "^[✓✗] "}
	matrix := d.Sections[0].Table
	if got := matrix.Columns[1:]; d.Interrupted || len(d.Sections) != 1 || len(matrix.Rows) != 9 || !slices.Equal(got, breaks.Names()) {
		t.Fatalf("%d locks and the faults %q, want 9 and %q", len(matrix.Rows), got, breaks.Names())
	}
	for i, row := range matrix.Rows {
		want := ours
		if i >= 6 {
			want = others
		}
		for n, cell := range row {
			if !regexp.MustCompile(want[n]).MatchString(cell) {
				t.Errorf("%s: got %q in column %d, want %s", row[0], cell, n, want[n])
			}
		}
	}
}

// TestBreakingIsInterrupted in the middle: its report has what was done until then.
func TestBreakingIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun, chosen := 0, breaks.Names()[1:]
	var out bytes.Buffer
	errs := &shared{onWrite: func() {
		if begun++; begun == len(chosen) { // faults have begun: trials wait for others, so at least one is done
			cancel()
		}
	}}
	code := run(ctx, []string{"locks", "--break", "--json=-", "--case", strings.Join(chosen, ";")}, cli.Streams{Out: &out, Err: errs})
	if told := errs.String(); code != 1 || strings.Count(told, "\n") != len(chosen)+1 || !strings.HasSuffix(told, "the breaking of locks was stopped: context canceled\n") {
		t.Errorf("exit status %d, told %q, want the faults and one line", code, told)
	}
	d := readReport(t, out.String())
	if tried := d.Sections[0].Table.Columns[1:]; !d.Interrupted || len(tried) == 0 || slices.Contains(tried, breaks.Names()[0]) {
		t.Errorf("interrupted: %t, want true; the faults %q, want some of %q", d.Interrupted, tried, chosen)
	}
}
