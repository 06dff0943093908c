package servers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheRevisionIsThatOfTheProgram: reports that lie about do not change a program, and neither does another repository.
func TestTheRevisionIsThatOfTheProgram(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) string {
		t.Helper()
		args = append([]string{"-C", folder, "-c", "user.name=me", "-c", "user.email=me@example.org"}, args...)
		out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	want := func(what, module, want string) {
		t.Helper()
		if got := workingCopy(t.Context(), folder, module); got != want {
			t.Errorf("%s: %q instead of %q", what, got, want)
		}
	}
	want("no repository", "shop", "")
	git("init", "--quiet")
	write("go.mod", "module shop\n\ngo 1.26\n")
	write("main.go", "package main\n")
	git("add", ".")
	git("commit", "--quiet", "--message", "begin")
	head := git("rev-parse", "HEAD")[:revisionDigits]
	want("as committed", "shop", head)
	want("of another program", "inventory", "")
	write("out.json", "{}")
	want("beside a report", "shop", head)
	write("more.go", "package main\n")
	want("with a new file", "shop", head+"-dirty")
}

func TestTheMachineTellsWhatItIs(t *testing.T) {
	t.Parallel()
	e := Machine(t.Context())
	if e.OS == "" || e.Arch == "" || e.CPUs < 1 || !strings.HasPrefix(e.Go, "go1") {
		t.Errorf("%+v", e)
	}
	if _, err := os.Stat("/proc/cpuinfo"); err == nil && strings.ContainsAny(e.CPU, "\n\t:") {
		t.Errorf("a processor %q", e.CPU)
	}
}
