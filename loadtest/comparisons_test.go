package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"inventory/internal/busytest"
	"inventory/loadtest/internal/report"
)

// runProgram runs the program as a person does, who gets a report in which all adds up, and what was printed.
func runProgram(t *testing.T, args ...string) (d report.Document, printed string) {
	t.Helper()
	result := filepath.Join(t.TempDir(), "result.json")
	command := program(t, append(args, "--json", result)...)
	var out, errs busytest.Log
	command.Stdout, command.Stderr = &out, &errs
	if err := command.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), errs.String())
	}
	if d = readReport(t, readFile(t, result)); !d.AuditOK() {
		t.Errorf("wrong: %q, want nothing", d.Wrong)
	}
	return d, out.String()
}

// TestContendersStartThemselves as the other processes.
func TestContendersStartThemselves(t *testing.T) { // not parallel: it needs the processor for itself
	busytest.Slow(t)
	d, printed := runProgram(t, "contenders", "--quick", "--tiny", "--case=three processes")
	if len(d.Sections) != 1 || len(d.Sections[0].Table.Rows) != 2 || len(d.Sections[0].Targets) != 2 || strings.Count(printed, "audit of ") != 1 {
		t.Errorf("got %+v\n%s", d, printed)
	}
}

// TestExplainStartsItself as the processes that sell: with and without locks, in batches and order by order.
func TestExplainStartsItself(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	d, printed := runProgram(t, "explain", "--tiny", "--segments=2", "--processes=1", "--seed=7")
	if d.Seed != 7 || len(d.Summary) != 0 || len(d.Sections) != 3 || !strings.Contains(printed, "too few rounds") {
		t.Fatalf("got %+v\n%s", d, printed)
	}
	effects, cells := d.Sections[0].Table, d.Sections[2].Table
	if len(effects.Rows) != 2 || len(cells.Rows) != 4 {
		t.Errorf("%d effects of %d cells, want 2 of 4", len(effects.Rows), len(cells.Rows))
	}
	sold := 0
	for _, row := range cells.Rows {
		cell := func(column string) string { return row[slices.Index(cells.Columns, column)] }
		if cell("orders a write") == "-" { // the window was over before a busy machine sent an order
			continue
		}
		sold++
		if cell("segments") != "2" || cell("processes") != "1" {
			t.Errorf("not what the flags say: %q", row)
		}
		if cell("batching") == "off" && cell("orders a write") != "1" || cell("lock") == "none" && cell("writes without a lock") != "1" {
			t.Errorf("batches without batching, or locks without a lock: %q", row)
		}
	}
	if sold == 0 {
		t.Errorf("no cell sold anything: %q", cells.Rows)
	}
	e := d.Environment
	conditions := e.String()
	if e.Of("fsync") != "on" || e.Of("synchronous_commit") != "on" || e.Of("file system") == "" || !strings.Contains(conditions, "quiet before the start") || !strings.Contains(conditions, "GOGC 400") {
		t.Errorf("%+v", e)
	}
}
