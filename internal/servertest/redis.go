//go:build unix

package servertest

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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
	return startProgram(ctx, "Redis", "", t, func(*Redis) []string {
		return append([]string{"--save", "", "--appendonly", "no"}, arguments...)
	})
}

// startProgram starts redis-server with a file of settings, if there are any. It calls arguments when it knows the folder
// and the port, which change until a free port is found.
func startProgram(ctx context.Context, name, settings string, t TLS, arguments func(r *Redis) []string) (*Redis, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errMissing("redis-server")
	}
	folder, err := newFolder(os.TempDir())
	if err != nil {
		return nil, err
	}
	r := &Redis{server: server{name: name, deathSignal: syscall.SIGKILL, folder: folder}, tls: t}
	file := filepath.Join(folder.path, "redis.conf")
	r.configure = func() error {
		if _, err := os.Stat(file); err == nil {
			return nil // a Sentinel has changed the file itself
		}
		return os.WriteFile(file, []byte(settings), 0o600)
	}
	r.command = func() *exec.Cmd {
		command := exec.Command(program, slices.Concat([]string{file}, arguments(r), r.tls.arguments(r.port), []string{
			"--bind", "127.0.0.1", "--dir", folder.path, "--daemonize", "no",
		})...)
		command.Dir = folder.path
		return command
	}
	r.ready = r.answers
	if err := r.startAnywhere(ctx); err != nil {
		return nil, errors.Join(err, folder.remove())
	}
	return r, nil
}

// URL returns the address in the form that go-redis parses.
func (r *Redis) URL() string { return r.tls.scheme() + "://" + r.address() + "/0" }

// Addr returns the address as host:port.
func (r *Redis) Addr() string { return r.address() }

// Pause freezes the server with SIGSTOP: until Resume, connections stay open and
// the server answers nothing.
func (r *Redis) Pause() error { return r.signal(syscall.SIGSTOP) }

// Resume ends a Pause.
func (r *Redis) Resume() error { return r.signal(syscall.SIGCONT) }

// Stop ends the server, paused or not, and removes its folder. Later calls do
// nothing.
func (r *Redis) Stop() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.stopped {
		return nil
	}
	// There is nothing to save, and an orderly end would wait for replicas.
	if err := r.kill(); err != nil {
		return err
	}
	r.stopped = true
	return r.folder.remove()
}

// answers sends the server a PING and reads its process id. It writes the
// protocol by hand, so that a client's retries and pools do not affect the answer.
func (r *Redis) answers(ctx context.Context, pid int) error {
	config, err := r.tls.config()
	if err != nil {
		return err
	}
	var dialer interface {
		DialContext(ctx context.Context, network, address string) (net.Conn, error)
	} = &net.Dialer{}
	if config != nil {
		dialer = &tls.Dialer{Config: config}
	}
	connection, err := dialer.DialContext(ctx, "tcp", r.address())
	if err != nil {
		return err
	}
	defer connection.Close()
	// Closing the connection ends the read below. A second close does no harm.
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })()
	if _, err := connection.Write([]byte("PING\r\nINFO server\r\nQUIT\r\n")); err != nil {
		return err
	}
	wanted := fmt.Sprintf("process_id:%d", pid)
	var first string
	lines := bufio.NewScanner(connection)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if first == "" {
			first = line
		}
		if first == "+PONG" && line == wanted {
			return nil
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return fmt.Errorf("no Redis with %s answers; its first line is %q", wanted, first)
}
