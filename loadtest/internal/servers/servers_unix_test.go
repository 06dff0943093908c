//go:build unix

package servers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestNoZooKeeperIsSaid finds a Redis on its PATH, and nothing else.
func TestNoZooKeeperIsSaid(t *testing.T) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.Symlink(program, filepath.Join(folder, "redis-server")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
	s := &Servers{}
	leftOut, err := s.AddForLocks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	if len(leftOut) != 1 || !strings.Contains(leftOut[0], "ZooKeeper") || strings.Contains(leftOut[0], "\n") {
		t.Errorf("left out: %q", leftOut)
	}
	if s.ZooKeeper != "" || len(s.NodeURLs) != nodes {
		t.Errorf("%+v", s.URLs)
	}
}
