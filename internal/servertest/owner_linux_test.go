package servertest

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestServersDieWithTheirOwner kills a process that owns two servers.
func TestServersDieWithTheirOwner(t *testing.T) {
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
		deadline := time.Now().Add(10 * time.Second)
		for len(descendants(t, path)) > 0 {
			if time.Now().After(deadline) {
				t.Fatalf("in %s there still work %v", path, descendants(t, path))
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	startRedis(t) // sweeps
	for _, path := range folders {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the next start left the folder %s: %v", path, err)
		}
	}
}
