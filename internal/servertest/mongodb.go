//go:build unix

package servertest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// ErrNoMongoDB means that no server of MongoDB's protocol can be started here. It is optional, so scripts/install-servers
// does not install it.
var ErrNoMongoDB = errors.New("neither mongod nor a ferretdb with SQLite is installed")

// MongoDB is a private server of MongoDB's protocol: mongod, or FerretDB, which keeps documents in SQLite.
type MongoDB struct{ server }

// StartMongoDB starts a server of MongoDB's protocol. If none is installed, the error is ErrNoMongoDB.
func StartMongoDB(ctx context.Context) (*MongoDB, error) {
	program, arguments, err := findMongoDB(ctx)
	if err != nil {
		return nil, err
	}
	m := &MongoDB{server{name: "MongoDB", deathSignal: syscall.SIGKILL}}
	m.command = func() *exec.Cmd { return m.run(program, arguments(&m.server)...) }
	m.ready = m.accepts
	return started(m, m.open(ctx, os.TempDir(), nil))
}

// findMongoDB returns a program, and its arguments.
func findMongoDB(ctx context.Context) (program string, arguments func(s *server) []string, err error) {
	if program, err = exec.LookPath("mongod"); err == nil {
		return program, forMongod, nil
	}
	if program, err = exec.LookPath("ferretdb"); err != nil {
		return "", nil, ErrNoMongoDB
	}
	// From version 2 on, FerretDB needs a PostgreSQL with its own extensions.
	help, err := exec.CommandContext(ctx, program, "--help").Output()
	if err != nil || !strings.Contains(string(help), "--sqlite-url") {
		return "", nil, ErrNoMongoDB
	}
	return program, forFerretDB, nil
}

func forMongod(s *server) []string {
	return []string{
		"--dbpath", s.folder.path, "--bind_ip", "127.0.0.1", "--port", strconv.Itoa(s.port), "--nounixsocket",
		"--wiredTigerCacheSizeGB", "0.25",
	}
}

func forFerretDB(s *server) []string {
	return []string{
		"--handler=sqlite", "--sqlite-url=file:" + s.folder.path + "/", "--listen-addr=" + s.Addr(), "--log-level=warn",
		"--state-dir=-", "--debug-addr=-", "--telemetry=disable", // nothing but the folder and the port
	}
}

// URL returns the address in the form that MongoDB's driver parses.
func (m *MongoDB) URL() string { return "mongodb://" + m.Addr() + "/" }
