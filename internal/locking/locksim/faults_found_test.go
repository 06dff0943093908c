//go:build mutants

package locksim_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestFaultsAreFound builds the simulator with each fault, and plays histories until one of them finds it: no more than are played in a
// minute or two.
func TestFaultsAreFound(t *testing.T) {
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), simulatorWith(t, fault.edits),
				"-test.run=^TestSimulation$", "-sim.first=1", "-sim.histories=300").CombinedOutput()
			if err == nil {
				t.Fatalf("no history finds it\n%s", out)
			}
			said := regexp.MustCompile(`(?m)^.*(` + fault.says + `).*$`).Find(out)
			if said == nil {
				t.Fatalf("want one of %s, got:\n%s", fault.says, out)
			}
			t.Logf("found in history %s: %s", regexp.MustCompile(`seed (\d+)`).FindSubmatch(out)[1], bytes.TrimSpace(said))
		})
	}
}

// simulatorWith builds these tests with some sources changed.
func simulatorWith(t *testing.T, edits []edit) (program string) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"Replace": broken(t, edits)})
	ok(t, err)
	folder := t.TempDir()
	overlay, program := filepath.Join(folder, "overlay.json"), filepath.Join(folder, "simulator")
	ok(t, os.WriteFile(overlay, text, 0o600))
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", overlay, "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}
