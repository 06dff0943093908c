//go:build unix

package servers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"inventory/internal/busytest"
)

func TestMain(m *testing.M) { busytest.Main(m) }

// TestMissingServersAreReported finds a Redis on its PATH, and nothing else.
func TestMissingServersAreReported(t *testing.T) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.Symlink(program, filepath.Join(folder, "redis-server")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
	s, err := Open(t.Context(), URLs{RedisURL: "there", DatabaseURL: "there"}, Needs{Nodes: true, Others: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	leftOut := s.LeftOut
	lines := strings.Join(leftOut, "\n")
	if len(leftOut) != 2 || strings.Count(lines, "\n") != 1 || !strings.Contains(lines, "ZooKeeper") || !strings.Contains(lines, "MongoDB") {
		t.Errorf("left out: %q", leftOut)
	}
	if s.ZooKeeper != "" || s.MongoDBURL != "" || len(s.NodeURLs) != nodes {
		t.Errorf("%+v", s.URLs)
	}
}

func TestTheMachineTellsWhatItIs(t *testing.T) {
	t.Parallel()
	e := Machine(t.Context())
	if !strings.Contains(e.Of("system"), "/") || !strings.HasPrefix(e.Of("Go"), "go1") || strings.ContainsAny(e.String(), "\n\t:") {
		t.Errorf("%+v", e)
	}
}
