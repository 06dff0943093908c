package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"inventory/loadtest/internal/publish"
)

// TestCapacityStartsItself runs the program as a person does, and publishes its report into the document.
func TestCapacityStartsItself(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	result := filepath.Join(folder, "capacity.json")
	out, err := exec.CommandContext(t.Context(), program, "capacity", "--tiny", "--seed=7", "--json", result).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var own struct {
		Costs map[string]struct {
			Parts map[string]struct {
				Order float64 `json:"us_an_order"`
			}
		}
	}
	d := readReport(t, readFile(t, result), &own)
	if !d.AuditOK || d.Seed != 7 || len(own.Costs) != 4 || len(own.Costs["one hot SKU"].Parts) != 5 {
		t.Errorf("%+v, %+v", d, own)
	}
	document := filepath.Join(folder, "SCALE.md")
	marks := "# Scale\n"
	for _, mark := range []string{"capacity", "capacity: where it stops"} {
		marks += "<!-- " + mark + ": begin -->\n<!-- " + mark + ": end -->\n"
	}
	other := filepath.Join(folder, "OTHER.md")
	for name, text := range map[string]string{document: marks, other: "# No lines\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	job := publish.Job{Documents: []string{other, document}, Plots: filepath.Join(folder, "plots"), Reports: []string{result}}
	if _, err := publish.Run(job); err != nil {
		t.Fatal(err)
	}
	text := readFile(t, document)
	for _, want := range []string{"\n- " + d.Summary[0] + "\n", "| work | within | orders/s | processes, ", "| work | stopped by | orders/s | then |"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if readFile(t, other) != "# No lines\n" {
		t.Errorf("the other document: %s", readFile(t, other))
	}
}
