package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestExplainStartsItself runs the program as a person does: it starts itself as the processes that sell.
func TestExplainStartsItself(t *testing.T) {
	t.Parallel()
	result := filepath.Join(t.TempDir(), "result.json")
	out, err := exec.CommandContext(t.Context(), program, "explain", "--tiny", "--seed=7", "--json", result).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(result)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Seed    int
		Summary []string
		Effects []struct {
			Factor       string
			Combinations []any
		}
		Cells []struct {
			Levels  map[string]string
			Metrics map[string]struct{ Value *float64 }
		}
		Environment struct {
			Fsync       string
			Sync        string `json:"synchronous_commit"`
			FileSystem  string `json:"file_system"`
			Measurement []string
		}
		AuditOK bool `json:"audit_ok"`
		SKUs    int  `json:"skus_audited"`
	}
	if err := json.Unmarshal(text, &got); err != nil || !got.AuditOK || got.Seed != 7 || got.SKUs != 32 {
		t.Fatalf("%v: %s", err, text)
	}
	if len(got.Summary) != 5 || len(got.Effects) != 4 || len(got.Cells) != 16 {
		t.Errorf("%s", text)
	}
	for _, line := range got.Summary {
		if !strings.Contains(string(out), line+"\n") {
			t.Errorf("not told: %s", line)
		}
	}
	for _, c := range got.Cells {
		if n := c.Metrics["orders a write"].Value; c.Levels["batching"] == "off" && (n == nil || *n != 1) {
			t.Errorf("batches without batching: %+v", c)
		}
		if n := c.Metrics["writes without a lock"].Value; c.Levels["lock"] == "none" && (n == nil || *n != 1) {
			t.Errorf("locks without a lock: %+v", c)
		}
	}
	e := got.Environment
	conditions := strings.Join(e.Measurement, "; ")
	if e.Fsync != "on" || e.Sync != "on" || e.FileSystem == "" || !strings.Contains(conditions, "quiet before the start") || !strings.Contains(conditions, "GOGC 400") {
		t.Errorf("%+v", e)
	}
}
