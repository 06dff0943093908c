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

// startMongoDB skips the test where neither program is installed.
func startMongoDB(t *testing.T) *MongoDB {
	t.Helper()
	m, err := StartMongoDB(t.Context())
	if errors.Is(err, ErrNoMongoDB) {
		t.Skip(err) // the lab leaves it out as well, and says so
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, m.Stop, &m.server) })
	return m
}

func TestMongoDBLife(t *testing.T) {
	t.Parallel()
	started := time.Now()
	m := startMongoDB(t)
	t.Logf("started in %v", time.Since(started))
	for range 2 {
		if err := m.answers(t.Context(), m.PID()); err != nil {
			t.Fatal(err)
		}
		if err := m.answers(t.Context(), m.PID()+1); err == nil || !strings.Contains(err.Error(), "but one with") {
			t.Errorf("taken for another server: %v", err)
		}
		if err := m.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := m.answers(t.Context(), 0); err == nil {
			t.Error("a killed server answered")
		}
		if err := m.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMongoDBOnATakenPort(t *testing.T) {
	t.Parallel()
	m := startMongoDB(t)
	squatter, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer squatter.Close()
	if err := m.Kill(); err != nil {
		t.Fatal(err)
	}
	own := m.port
	m.port = squatter.Addr().(*net.TCPAddr).Port
	go answerNothing(squatter)
	if err := m.start(t.Context()); !errors.Is(err, errPortTaken) {
		t.Errorf("on a taken port: %v", err)
	}
	m.port = own
}

// TestStrangersAreNoMongoDB reads what other servers would answer.
func TestStrangersAreNoMongoDB(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"", "-ERR unknown command\r\n", "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"} {
		if document, err := readMongoMessage(strings.NewReader(answer)); err == nil {
			t.Errorf("%q was understood as %q", answer, document)
		}
	}
}

// TestNoMongoDB finds no program on its PATH, and then a ferretdb that cannot be used.
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
