//go:build unix

package servertest

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

// startZooKeeper returns nil if ZooKeeper is not installed.
func startZooKeeper(t *testing.T) *ZooKeeper {
	t.Helper()
	z, err := StartZooKeeper(t.Context())
	if errors.Is(err, ErrNoZooKeeper) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, z.Stop, &z.server) })
	return z
}

func TestZooKeeperLife(t *testing.T) {
	t.Parallel()
	started := time.Now()
	z := startZooKeeper(t)
	if z == nil {
		return // the lab leaves it out as well, and logs that
	}
	t.Logf("started in %v", time.Since(started))
	for range 2 {
		if err := z.answers(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if err := z.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := z.answers(t.Context(), 0); err == nil {
			t.Error("a killed server answered")
		}
		if err := z.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestZooKeeperOnATakenPort(t *testing.T) {
	t.Parallel()
	z := startZooKeeper(t)
	if z == nil {
		return
	}
	squatter, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer squatter.Close()
	if err := z.Kill(); err != nil {
		t.Fatal(err)
	}
	own := z.port
	z.port = squatter.Addr().(*net.TCPAddr).Port
	go answerNothing(squatter)
	if err := z.start(t.Context()); !errors.Is(err, errPortTaken) {
		t.Errorf("on a taken port: %v", err)
	}
	z.port = own
}

// answerNothing hangs up on every caller, until the listener is closed.
func answerNothing(listener net.Listener) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		_ = connection.Close()
	}
}

func TestNoZooKeeper(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := StartZooKeeper(t.Context())
	if !errors.Is(err, ErrNoZooKeeper) || strings.Contains(err.Error(), "\n") {
		t.Errorf("without java: %v", err)
	}
}
