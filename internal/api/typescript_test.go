//go:build typescript

package api_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// workshop is a copy of the folder typescript, with its packages.
type workshop struct {
	t           *testing.T
	folder, url string
}

func openWorkshop(t *testing.T, url string) workshop {
	t.Helper()
	w := workshop{t, t.TempDir(), url}
	if err := os.CopyFS(w.folder, os.DirFS("typescript")); err != nil {
		t.Fatal(err)
	}
	if !w.run(".", "install", "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts") {
		t.FailNow()
	}
	return w
}

// run runs a command in a folder of the workshop, as a test of its own.
func (w workshop) run(in, name string, arguments ...string) bool {
	return w.t.Run(name, func(t *testing.T) {
		command := exec.CommandContext(t.Context(), "nice", arguments...)
		command.Dir = filepath.Join(w.folder, in)
		command.Env = append(os.Environ(), "INVENTORY_URL="+w.url, "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%q: %v: %s", arguments, err, out)
		}
	})
}

// TestTypeScript runs the linters over the document, generates clients of it as sites do, compiles them as strictly as
// TypeScript can, and sells with each.
func TestTypeScript(t *testing.T) {
	w := openWorkshop(t, open(t).url)
	text, err := os.ReadFile("openapi.yaml")
	if err == nil {
		err = os.WriteFile(filepath.Join(w.folder, "openapi.yaml"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.run(".", "lint", "npm", "run", "lint")
	if !w.run(".", "generate", "npm", "run", "generate") || !w.run(".", "compile", "npm", "run", "compile") {
		return
	}
	scripts, err := filepath.Glob(filepath.Join(w.folder, "built", "*.js"))
	if err != nil || len(scripts) < 5 {
		t.Fatalf("%q: %v", scripts, err)
	}
	for _, script := range scripts {
		w.run(".", filepath.Base(script), "node", script)
	}
}
