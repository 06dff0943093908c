//go:build unix

package servertest

import (
	"strconv"
	"strings"
	"testing"
)

// TestProgramLife has a program of which the package knows nothing: here, a Redis.
func TestProgramLife(t *testing.T) {
	t.Parallel()
	p, err := StartProgram(t.Context(), "redis-server", func(folder string, port int) (map[string]string, []string) {
		return map[string]string{"settings": "port " + strconv.Itoa(port)}, []string{folder + "/settings"}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, p.Stop, &p.server) })
	for range 2 {
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := p.accepts(t.Context(), 0); err == nil {
			t.Error("a killed program answered")
		}
		if err := p.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMissingProgramIsToldInOneLine(t *testing.T) {
	t.Parallel()
	_, err := StartProgram(t.Context(), "no-such-program", nil)
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "no-such-program is not installed") {
		t.Errorf("got %v, want one line that it is not installed", err)
	}
}
