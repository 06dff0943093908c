package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSegmentsStartThemselves runs the program as a person does: it starts itself as the other processes.
func TestSegmentsStartThemselves(t *testing.T) {
	t.Parallel()
	result := filepath.Join(t.TempDir(), "result.json")
	args := []string{"segments", "--quick", "--tiny", "--lock=none", "--case=segments", "--json", result}
	out, err := exec.CommandContext(t.Context(), program, args...).Output()
	if err != nil || strings.Count(string(out), "audit of ") != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(result)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Segments []any `json:"segments"`
		AuditOK  bool  `json:"audit_ok"`
		Sections []any
	}
	if err := json.Unmarshal(text, &got); err != nil || !got.AuditOK || len(got.Sections) != 1 || len(got.Segments) != 4 {
		t.Errorf("%v: %s", err, text)
	}
}

func TestSegmentsWithWrongFlags(t *testing.T) {
	t.Parallel()
	nobody := freeAddress(t)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"case": {[]string{"--case=one;two"}, `there is no case "one"`},
		"lock": {[]string{"--lock=ab"}, "--lock"},
		"no database": {
			[]string{"--redis-url=redis://" + nobody, "--database-url=postgres://me:secret@" + nobody + "/db"}, "reach PostgreSQL",
		},
		"result": {[]string{"--json=none/there.json"}, "--json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := runWith(t.Context(), append([]string{"segments"}, c.args...)...)
			got.wantOneLine(t, c.says)
		})
	}
}
