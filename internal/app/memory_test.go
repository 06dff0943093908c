package app_test

import (
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"inventory/internal/app"
)

// The limit is for the whole process, so each case runs in its own process, which is this test again.
const memoryCase = "INVENTORY_TEST_MEMORY"

func TestMemoryIsLimited(t *testing.T) {
	t.Parallel()
	if os.Getenv(memoryCase) != "" {
		app.SpendMemory(nil)
		t.Logf("limit=%d", debug.SetMemoryLimit(-1))
		return
	}
	limitWith := func(more ...string) int64 {
		command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMemoryIsLimited$", "-test.v")
		command.Env = append(append(os.Environ(), memoryCase+"=1"), more...)
		out, err := command.CombinedOutput()
		_, rest, found := strings.Cut(string(out), "limit=")
		limit, err2 := strconv.ParseInt(strings.Fields(rest + " x")[0], 10, 64)
		if err != nil || !found || err2 != nil {
			t.Fatalf("%v %s", err, out)
		}
		return limit
	}
	if limit := limitWith(); limit < 64<<20 || limit > 1<<50 {
		t.Errorf("without a word: %d bytes", limit)
	}
	if limit := limitWith("GOMEMLIMIT=123MiB"); limit != 123<<20 {
		t.Errorf("with GOMEMLIMIT: %d bytes", limit)
	}
}
