package servertest

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"inventory/internal/busytest"
)

// TestServersDieWithTheirOwner kills a process that owns two servers.
func TestServersDieWithTheirOwner(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), ownerVariable+"=1")
	output, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	var folders []string
	for len(folders) < 2 && lines.Scan() {
		var pid int
		var path string
		if _, err := fmt.Sscan(lines.Text(), &pid, &path); err != nil {
			t.Fatalf("the owner says %q", lines.Text())
		}
		folders = append(folders, path)
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := owner.Wait(); err == nil {
		t.Error("the killed owner ended well")
	}
	if len(folders) < 2 {
		t.Fatalf("the owner started only %v", folders)
	}
	for _, path := range folders {
		busytest.Soon(t, "no server works in "+path, func() bool { return len(descendants(t, path)) == 0 })
	}
	startRedis(t) // sweeps, or somebody else's start is about to
	for _, path := range folders {
		busytest.Soon(t, "the next start has removed "+path, func() bool { _, err := os.Stat(path); return errors.Is(err, os.ErrNotExist) })
	}
}
