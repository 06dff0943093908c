//go:build typescript

package api_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTypeScript runs the linters over the document, generates clients of it as sites do, compiles them as strictly as
// TypeScript can, and sells with each.
func TestTypeScript(t *testing.T) {
	s := open(t)
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("typescript")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("openapi.yaml")
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "openapi.yaml"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	run := func(name string, arguments ...string) bool {
		return t.Run(name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), "nice", arguments...)
			command.Dir = folder
			command.Env = append(os.Environ(), "INVENTORY_URL="+s.url, "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
			if out, err := command.CombinedOutput(); err != nil {
				t.Errorf("%q: %v: %s", arguments, err, out)
			}
		})
	}
	if !run("install", "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts") {
		return
	}
	run("lint", "npm", "run", "lint")
	if !run("generate", "npm", "run", "generate") || !run("compile", "npm", "run", "compile") {
		return
	}
	scripts, err := filepath.Glob(filepath.Join(folder, "built", "*.js"))
	if err != nil || len(scripts) < 5 {
		t.Fatalf("%q: %v", scripts, err)
	}
	for _, script := range scripts {
		run(filepath.Base(script), "node", script)
	}
}
