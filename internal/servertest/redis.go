//go:build unix

package servertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// Redis is a private redis-server that keeps nothing on disk.
type Redis struct {
	server
	tls TLS
}

// StartRedis starts a Redis server. Further arguments go to redis-server as
// they are, for example "--maxmemory", "64mb".
func StartRedis(ctx context.Context, arguments ...string) (*Redis, error) {
	return TLS{}.StartRedis(ctx, arguments...)
}

// StartRedis is [StartRedis] with TLS.
func (t TLS) StartRedis(ctx context.Context, arguments ...string) (*Redis, error) {
	return openRedis(ctx, "Redis", "", t, func(*Redis) []string {
		return append([]string{"--save", "", "--appendonly", "no"}, arguments...)
	})
}

// openRedis starts redis-server with a file of settings, if there are any. It calls arguments when it knows the folder
// and the port, which change until a free port is found.
func openRedis(ctx context.Context, name, settings string, t TLS, arguments func(r *Redis) []string) (*Redis, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errMissing("redis-server")
	}
	r := &Redis{server: server{name: name, deathSignal: syscall.SIGKILL}, tls: t}
	const file = "redis.conf"
	r.configure = func() error {
		if _, err := os.Stat(filepath.Join(r.folder.path, file)); err == nil {
			return nil // a Sentinel has changed the file itself
		}
		return r.write(map[string]string{file: settings})
	}
	r.command = func() *exec.Cmd {
		return r.run(program, slices.Concat([]string{filepath.Join(r.folder.path, file)}, arguments(r), r.tls.arguments(r.port), []string{
			"--bind", "127.0.0.1", "--dir", r.folder.path, "--daemonize", "no",
		})...)
	}
	r.ready = r.answers
	return started(r, r.open(ctx, os.TempDir(), nil))
}

// URL returns the address in the form that go-redis parses.
func (r *Redis) URL() string { return r.tls.scheme() + "://" + r.Addr() + "/0" }

// Pause freezes the server with SIGSTOP: until Resume, connections stay open and
// the server answers nothing.
func (r *Redis) Pause() error { return r.signal(syscall.SIGSTOP) }

// Resume ends a Pause.
func (r *Redis) Resume() error { return r.signal(syscall.SIGCONT) }

// answers reads the server's process id.
func (r *Redis) answers(ctx context.Context, pid int) error {
	info, err := r.info(ctx, "server")
	if err != nil {
		return err
	}
	if info["process_id"] != strconv.Itoa(pid) {
		return fmt.Errorf("no Redis with process id %d answers, but one with %q", pid, info["process_id"])
	}
	return nil
}
