package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestContendersStartThemselves runs the program as a person does: it starts itself as the other processes.
func TestContendersStartThemselves(t *testing.T) { // not parallel: it needs the processor for itself
	result := filepath.Join(t.TempDir(), "result.json")
	args := []string{"contenders", "--quick", "--tiny", "--case=three processes;over HTTP", "--json", result}
	out, err := exec.CommandContext(t.Context(), program, args...).Output()
	if err != nil || strings.Count(string(out), "audit of ") != 2 {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(result)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		InProcess []any `json:"in_process"`
		HTTP      []any `json:"http"`
		AuditOK   bool  `json:"audit_ok"`
		Sections  []any
	}
	if err := json.Unmarshal(text, &got); err != nil || !got.AuditOK || len(got.Sections) != 2 || len(got.InProcess) != 2 || len(got.HTTP) != 10 {
		t.Errorf("%v: %s", err, text)
	}
}
