package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"inventory/loadtest/internal/report"
)

// runProgram runs the program as a person does, who gets a report in which all adds up, and what was printed.
func runProgram(t *testing.T, args ...string) (d report.Document, printed string) {
	t.Helper()
	result := filepath.Join(t.TempDir(), "result.json")
	command := program(t, append(args, "--json", result)...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	if err := command.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, &out, &errs)
	}
	if d = readReport(t, readFile(t, result)); !d.AuditOK() {
		t.Errorf("wrong: %q, want nothing", d.Wrong)
	}
	return d, out.String()
}

// TestContendersStartThemselves as the other processes.
func TestContendersStartThemselves(t *testing.T) { // not parallel: it needs the processor for itself
	d, printed := runProgram(t, "contenders", "--quick", "--tiny", "--case=three processes")
	if len(d.Sections) != 1 || len(d.Sections[0].Table.Rows) != 2 || strings.Count(printed, "audit of ") != 1 {
		t.Errorf("got %+v\n%s", d, printed)
	}
}

// TestExplainStartsItself as the processes that sell.
func TestExplainStartsItself(t *testing.T) {
	t.Parallel()
	d, printed := runProgram(t, "explain", "--tiny", "--processes=1,2", "--seed=7")
	if d.Seed != 7 || len(d.Summary) != 0 || len(d.Sections) != 3 || !strings.Contains(printed, "too few rounds") {
		t.Fatalf("got %+v\n%s", d, printed)
	}
	effects, cells := d.Sections[0].Table, d.Sections[2].Table
	if len(effects.Rows) != 4 || len(cells.Rows) != 16 {
		t.Errorf("%d effects of %d cells, want 4 of 16", len(effects.Rows), len(cells.Rows))
	}
	for _, row := range cells.Rows {
		cell := func(column string) string { return row[slices.Index(cells.Columns, column)] }
		if cell("batching") == "off" && cell("orders a write") != "1" || cell("lock") == "none" && cell("writes without a lock") != "1" {
			t.Errorf("batches without batching, or locks without a lock: %q", row)
		}
	}
	e := d.Environment
	conditions := e.String()
	if e.Of("fsync") != "on" || e.Of("synchronous_commit") != "on" || e.Of("file system") == "" || !strings.Contains(conditions, "quiet before the start") || !strings.Contains(conditions, "GOGC 400") {
		t.Errorf("%+v", e)
	}
}
