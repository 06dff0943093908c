//go:build unix

package servertest

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// asMongoDB makes the test binary a server that accepts connections, as a start of MongoDB waits for.
const asMongoDB = "SERVERTEST_MONGODB"

// startMongoDB starts an installed program, or one that stands in for it. A test with the stand-in still covers how a
// server is started, killed and started again.
func startMongoDB(t *testing.T) *Program {
	t.Helper()
	m, err := StartMongoDB(t.Context())
	if errors.Is(err, ErrNoMongoDB) {
		standIn(t)
		m, err = StartMongoDB(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, m.Stop, &m.server) })
	return m
}

// standIn puts a ferretdb on PATH that is this test binary.
func standIn(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	script := "#!/bin/sh\n[ \"$1\" != --help ] || exec echo --sqlite-url\n" + asMongoDB + "=\"$*\" exec '" + self + "'\n"
	if err := os.WriteFile(filepath.Join(folder, "ferretdb"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
}

// serveMongoDB accepts connections at the address in the arguments.
func serveMongoDB(arguments string) error {
	_, address, _ := strings.Cut(arguments, "--listen-addr=")
	address, _, _ = strings.Cut(address, " ")
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		_ = connection.Close()
	}
}

func TestMongoDBLife(t *testing.T) { // not parallel: it may set PATH
	started := time.Now()
	m := startMongoDB(t)
	t.Logf("started in %v", time.Since(started))
	for range 2 {
		if err := m.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := m.accepts(t.Context(), 0); err == nil {
			t.Error("a killed server answered")
		}
		if err := m.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNoMongoDB has no program on its PATH, and then a ferretdb that cannot be used.
func TestNoMongoDB(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder)
	for range 2 {
		_, err := StartMongoDB(t.Context())
		if !errors.Is(err, ErrNoMongoDB) || strings.Contains(err.Error(), "\n") {
			t.Errorf("without a program: %v", err)
		}
		newer := "#!/bin/sh\necho --postgresql-url\n"
		if err := os.WriteFile(filepath.Join(folder, "ferretdb"), []byte(newer), 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

func TestZooKeeperAcceptsConnections(t *testing.T) {
	t.Parallel()
	z, err := StartZooKeeper(t.Context())
	if errors.Is(err, ErrNoZooKeeper) {
		return // the lab leaves it out as well, and logs that
	}
	if err != nil {
		t.Fatal(err)
	}
	stop(t, z.Stop, &z.server)
}

func TestNoZooKeeper(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := StartZooKeeper(t.Context())
	if !errors.Is(err, ErrNoZooKeeper) || strings.Contains(err.Error(), "\n") {
		t.Errorf("without java: got %v, want %v", err, ErrNoZooKeeper)
	}
}
