package main

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"inventory/loadtest/internal/breaks"
	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/lockbench"
	"inventory/loadtest/internal/report"
)

// TestAllLocksTakePart runs the program as a person does: it starts itself as the other processes.
func TestAllLocksTakePart(t *testing.T) { // not parallel: it needs the processor for itself
	var out, errs bytes.Buffer
	want := lockbench.Names()
	if testing.Short() {
		want = []string{"one caller", "3 processes"}
	}
	args := []string{"locks", "--quick", "--tiny", "--json=-", "--case", strings.Join(want, ";")}
	command := exec.CommandContext(t.Context(), program, args...)
	command.Stdout, command.Stderr = &out, &errs
	if err := command.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	d := readReport(t, out.String())
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
	if len(d.Flags) < 5 || d.Environment.Of("Redis") == "" || !d.AuditOK() {
		t.Errorf("%+v", d)
	}
}

// wantWork demands that a contender did something, that nothing went wrong, and that it kept others out. A peer that
// polls may have waited for the whole of so short a window.
func wantWork(t *testing.T, s report.Section, row []string) {
	t.Helper()
	cell := func(column string) string { return row[slices.Index(s.Table.Columns, column)] }
	if done := cell("per second"); done == "-" || strings.HasPrefix(done, "0") && strings.HasPrefix(row[0], "inventory") {
		t.Errorf("%s: %s did nothing: %q", s.Name, row[0], row)
	}
	if cell("violations") != "0" || slices.ContainsFunc(s.Notes, func(note string) bool { return strings.HasPrefix(note, "failed: ") }) {
		t.Errorf("%s: %s went wrong: %q, %q", s.Name, row[0], row, s.Notes)
	}
}

// TestLocksBreak runs the program as a person does: the holders are processes of it.
func TestLocksBreak(t *testing.T) {
	t.Parallel()
	command := exec.CommandContext(t.Context(), program, "locks", "--break", "--case", breaks.Names()[1], "--json=-")
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	if err := command.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	d := readReport(t, out.String())
	matrix := d.Sections[0].Table
	if len(d.Sections) != 1 || len(matrix.Columns) != 2 || matrix.Columns[1] != breaks.Names()[1] || len(matrix.Rows) != 9 {
		t.Fatalf("got %+v", d)
	}
	for _, row := range matrix.Rows {
		if broken := row[0] == kinds.BSM || row[0] == kinds.Redsync || row[0] == kinds.SetNX; strings.HasPrefix(row[1], report.Bad) != broken {
			t.Errorf("got %q", row)
		}
	}
}
