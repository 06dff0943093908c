package main

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"inventory/internal/busytest"
	"inventory/internal/cli"
	"inventory/loadtest/internal/breaks"
	"inventory/loadtest/internal/report"
)

// TestAllLocksTakePart runs the program as a person does: it starts itself as the other processes.
func TestAllLocksTakePart(t *testing.T) { // not parallel: it needs the processor for itself
	want := []string{"one caller", "3 processes"} // the other cases are these with more callers
	d, _ := runProgram(t, "locks", "--quick", "--tiny", "--case", strings.Join(want, ";"))
	var names []string
	for _, s := range d.Sections[1:] { // the first one is about all of them
		names = append(names, s.Name)
		got := false
		for _, row := range s.Table.Rows {
			got = wantWork(t, s, row) || got
		}
		if !got {
			t.Errorf("%s: nobody got a lock: %q", s.Name, s.Table.Rows)
		}
	}
	if strings.Join(names, ", ") != strings.Join(want, ", ") {
		t.Errorf("the cases are %q, want %q", names, want)
	}
	if len(d.Flags) < 5 || d.Environment.Of("Redis") == "" {
		t.Errorf("%+v", d)
	}
}

// wantWork demands that nothing went wrong with a contender, that it kept others out, and that each of ours that was asked for a
// lock gave one. It reports whether a lock was got. On a busy machine so short a window may be over before a caller asks for the
// lock, or gives it back.
func wantWork(t *testing.T, s report.Section, row []string) (got bool) {
	t.Helper()
	cell := func(column string) string { return row[slices.Index(s.Table.Columns, column)] }
	asked, got := cell("wait p50 ms") != "-", cell("commands per acquisition") != "-"
	if cell("per second") == "-" || asked && !got && strings.HasPrefix(row[0], "inventory") {
		t.Errorf("%s: %s did nothing: %q", s.Name, row[0], row)
	}
	told := slices.Contains(s.Table.Columns, "server us per acquisition") && cell("server us per acquisition") != "-"
	if got && strings.HasPrefix(row[0], "inventory") && (cell("allocations per acquisition") == "-" || told != (s.Name == "one caller")) {
		t.Errorf("%s: %s: allocations are not told, or the server's time, or that time between processes: %q", s.Name, row[0], row)
	}
	if cell("violations") != "0" || slices.ContainsFunc(s.Notes, func(note string) bool { return strings.HasPrefix(note, "failed: ") }) {
		t.Errorf("%s: %s went wrong: %q, %q", s.Name, row[0], row, s.Notes)
	}
	return got
}

// outcomes are what becomes of a lock of ours, and of one of others, by the fault. A lost unlock is repeated within the lease.
var outcomes = map[string][2]*regexp.Regexp{
	breaks.Names()[0]: {regexp.MustCompile("^✓ free after [0-9,.]+ ms$"), regexp.MustCompile("^[✓✗] ")},
	breaks.Names()[1]: {regexp.MustCompile("^✓ late write refused, holder told$"), regexp.MustCompile("^✗ both wrote")},
	breaks.Names()[2]: {regexp.MustCompile("^✓ free after [0-9,.]+ ms$"), regexp.MustCompile("^[✓✗] ")},
	breaks.Names()[3]: {regexp.MustCompile("^✓ kept for 2s, and given back$"), regexp.MustCompile("^[✓✗] ")},
}

// TestLocksBreak lets every fault happen to every lock on Redis: the known flaw of each must show, and none of ours may be broken.
// On a busy machine a lock may be late, or a flaw may not show: such a fault happens again. Two sellers under a lock of ours are
// never right.
func TestLocksBreak(t *testing.T) { // not parallel: a process that is late has lost its lease
	busytest.Slow(t)
	faults := breaks.Names()
	busytest.Soon(t, "each fault has its known outcome for each lock", func() bool {
		got := runWith(t.Context(), "locks", "--break", "--json=-", "--case", strings.Join(faults, ";"))
		d := readReport(t, got.out)
		matrix := d.Sections[0].Table
		if d.Interrupted || len(d.Sections) != 1 || len(matrix.Rows) != 9 {
			t.Fatalf("%d locks, want 9: %+v", len(matrix.Rows), got)
		}
		late := slices.DeleteFunc(slices.Clone(faults), func(fault string) bool { return hasKnownOutcomes(t, matrix, fault) })
		if len(late) == 0 && (got.code != 0 || !slices.Equal(matrix.Columns[1:], faults)) {
			t.Fatalf("exit status %d, %s; the faults %q, want %q", got.code, got.err, matrix.Columns[1:], faults)
		}
		faults = late
		return len(faults) == 0
	})
}

// hasKnownOutcomes reports whether a fault came out for all locks as it has to.
func hasKnownOutcomes(t *testing.T, matrix *report.Table, fault string) bool {
	t.Helper()
	column := slices.Index(matrix.Columns, fault)
	if column < 0 {
		return false
	}
	known := true
	for i, row := range matrix.Rows {
		isOurs := strings.HasPrefix(row[0], "inventory ")
		if isOurs != (i < 6) {
			t.Fatalf("row %d is of %s, want six of ours and then three of others", i, row[0])
		}
		want, cell := outcomes[fault][1], row[column]
		if isOurs {
			want = outcomes[fault][0]
		}
		if isOurs && (strings.Contains(cell, "both wrote") || strings.Contains(cell, "the row refused who has the lock")) {
			t.Fatalf("%s: %s: %q", row[0], fault, cell)
		}
		if !want.MatchString(cell) {
			t.Logf("%s: %s: %q, want %s", row[0], fault, cell, want)
			known = false
		}
	}
	return known
}

// writer is a function to which something writes.
type writer func(text []byte) (int, error)

func (w writer) Write(text []byte) (int, error) { return w(text) }

// TestBreakingIsInterrupted in the middle: its report has what was done until then.
func TestBreakingIsInterrupted(t *testing.T) {
	busytest.Slow(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	chosen := breaks.Names()[1:]
	var out, errs busytest.Log
	var begun atomic.Int64
	watched := writer(func(line []byte) (int, error) {
		if begun.Add(1) == int64(len(chosen)) { // faults have begun: trials wait for others, so at least one is done
			cancel()
		}
		return errs.Write(line)
	})
	code := run(ctx, []string{"locks", "--break", "--json=-", "--case", strings.Join(chosen, ";")}, cli.Streams{Out: &out, Err: watched})
	if told := errs.String(); code != 1 || strings.Count(told, "\n") != len(chosen)+1 || !strings.HasSuffix(told, "the breaking of locks was stopped: it was interrupted\n") {
		t.Errorf("exit status %d, told %q, want the faults and one line", code, told)
	}
	d := readReport(t, out.String())
	if tried := d.Sections[0].Table.Columns[1:]; !d.Interrupted || len(tried) == 0 || slices.Contains(tried, breaks.Names()[0]) {
		t.Errorf("interrupted: %t, want true; the faults %q, want some of %q", d.Interrupted, tried, chosen)
	}
}
