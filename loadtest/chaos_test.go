package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestChaosStartsItself runs a short round as a person does: it starts itself as the processes, and breaks them.
func TestChaosStartsItself(t *testing.T) {
	t.Parallel()
	result := filepath.Join(t.TempDir(), "result.json")
	out, err := exec.CommandContext(t.Context(), program, "chaos", "--quick", "--json", result).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(result)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Scenario string `json:"scenario"`
		Seed     uint64 `json:"seed"`
		AuditOK  bool   `json:"audit_ok"`
		Rounds   []struct {
			Operations int64 `json:"operations"`
			Accepted   int64 `json:"accepted"`
			Faults     []any `json:"faults"`
		} `json:"rounds"`
	}
	err = json.Unmarshal(text, &got)
	if err != nil || got.Scenario != "chaos" || got.Seed == 0 || !got.AuditOK || len(got.Rounds) != 1 || got.Rounds[0].Accepted == 0 || len(got.Rounds[0].Faults) == 0 {
		t.Fatalf("%v: %s", err, text)
	}
}

// TestChaosWithoutFaults tells what grows.
func TestChaosWithoutFaults(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), program, "chaos", "--fault=none", "--rounds=1", "--length=2s").CombinedOutput()
	for _, says := range []string{"No promise was broken.", "amid 0 faults", "\ngrowth\n", "resident memory, MB", "tables grew by", "What the machine did"} {
		if err != nil || !strings.Contains(string(out), says) {
			t.Fatalf("%v: no %q in\n%s", err, says, out)
		}
	}
}
