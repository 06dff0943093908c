package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"inventory/loadtest/internal/lockbench"
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
	var result struct {
		AuditOK     bool `json:"audit_ok"`
		Sections    []any
		Flags       []any
		Environment map[string]any
		Cases       []struct {
			Case       string           `json:"case"`
			Contenders []map[string]any `json:"contenders"`
		} `json:"cases"`
	}
	if err := json.Unmarshal(out.Bytes(), &result); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	var names []string
	for _, c := range result.Cases {
		names = append(names, c.Case)
		for _, contender := range c.Contenders {
			wantWork(t, c.Case, contender)
		}
	}
	if strings.Join(names, ", ") != strings.Join(want, ", ") {
		t.Errorf("the cases are %q, and not %q", names, want)
	}
	if len(result.Sections) != len(names)+1 || // the last one is about flaws
		len(result.Flags) < 5 || result.Environment["redis"] == nil || !result.AuditOK {
		t.Errorf("%s", out.String())
	}
}

// wantWork demands that a contender did something, that nothing went wrong, and that it kept others out. A peer that
// polls may have waited for the whole of so short a window.
func wantWork(t *testing.T, name string, contender map[string]any) {
	t.Helper()
	done, is := contender["per_second"].(float64)
	waited, _ := contender["wait_max_ms"].(float64)
	ours := strings.HasPrefix(fmt.Sprint(contender["name"]), "inventory")
	if !is || done <= 0 && (ours || waited <= 0) {
		t.Errorf("%s: %v did nothing: %v", name, contender["name"], contender)
	}
	if contender["violations"] != 0. || contender["note"] != nil {
		t.Errorf("%s: %v went wrong: %v", name, contender["name"], contender)
	}
}

// TestLocksBreak runs the program as a person does: the holders are processes of it.
func TestLocksBreak(t *testing.T) {
	t.Parallel()
	command := exec.CommandContext(t.Context(), program, "locks", "--break", "--case", "stands still, then writes", "--json=-")
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	if err := command.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	var result struct {
		Schema string
		Breaks []struct {
			Fault, Lock, Outcome string
			Ours, Broken         bool
			Stale                int     `json:"stale_writes"`
			Waited               float64 `json:"waited_ms"`
		}
	}
	if err := json.Unmarshal(out.Bytes(), &result); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	met := map[string]bool{}
	for _, b := range result.Breaks {
		met[b.Lock] = b.Broken
		if b.Fault != "stands still, then writes" || b.Ours && b.Broken || b.Broken != (b.Stale == 1) || b.Waited <= 0 {
			t.Errorf("%+v", b)
		}
	}
	if !met["SET NX PX"] || !met["redsync"] || met["inventory mutex"] || len(met) < 12 {
		t.Errorf("%+v in %s", met, out.String())
	}
}
