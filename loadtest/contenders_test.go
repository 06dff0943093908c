package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestContendersStartThemselves runs the program as a person does: it starts itself as the other processes.
func TestContendersStartThemselves(t *testing.T) { // not parallel: it needs the processor for itself
	result := filepath.Join(t.TempDir(), "result.json")
	args := []string{"contenders", "--quick", "--tiny", "--case=three processes", "--json", result}
	out, err := exec.CommandContext(t.Context(), program, args...).Output()
	if err != nil || strings.Count(string(out), "audit of ") != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	d := readReport(t, readFile(t, result))
	if !d.AuditOK() || len(d.Sections) != 1 || len(d.Sections[0].Table.Rows) != 2 {
		t.Errorf("got %+v", d)
	}
}
