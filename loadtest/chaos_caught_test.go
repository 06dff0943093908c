//go:build mutants

package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMutantsAreCaught builds services without one of their guards, and plays chaos with each.
func TestMutantsAreCaught(t *testing.T) {
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			mutant := buildMutant(t, m.edits)
			out, err := exec.CommandContext(t.Context(), mutant, append([]string{"chaos", "--seed=1", "--rounds=4", "--length=12s"}, m.flags...)...).CombinedOutput()
			if err == nil {
				t.Fatalf("nobody complains\n%s", out)
			}
			named := regexp.MustCompile(`seed \d+: (` + strings.Join(m.says, "|") + `): .*`).Find(out)
			if named == nil {
				t.Fatalf("want one of %q, got:\n%s", m.says, out)
			}
			t.Logf("%s", named)
		})
	}
}

// buildMutant builds the lab with some of its sources changed.
func buildMutant(t *testing.T, edits []edit) (program string) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"Replace": changed(t, edits)})
	if err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(t.TempDir(), "mutant")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", writeFile(t, string(text)), "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}
