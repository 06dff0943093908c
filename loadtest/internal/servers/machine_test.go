package servers

import (
	"os"
	"strings"
	"testing"
)

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
