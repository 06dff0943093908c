package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestExplainStartsItself runs the program as a person does: it starts itself as the processes that sell.
func TestExplainStartsItself(t *testing.T) {
	t.Parallel()
	result := filepath.Join(t.TempDir(), "result.json")
	out, err := exec.CommandContext(t.Context(), program, "explain", "--tiny", "--processes=1,2", "--seed=7", "--json", result).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	d := readReport(t, readFile(t, result))
	if !d.AuditOK() || d.Seed != 7 || len(d.Summary) != 0 || len(d.Sections) != 3 {
		t.Fatalf("got %+v", d)
	}
	if says := "too few rounds"; !strings.Contains(string(out), says) {
		t.Errorf("no %q in\n%s", says, out)
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
