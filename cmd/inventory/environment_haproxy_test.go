//go:build environments

package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"inventory/internal/servertest"
)

// haproxy starts an HAProxy before servers, in the mode tcp or http, with further lines of its configuration.
func haproxy(t *testing.T, mode, lines string, servers ...string) *servertest.Program {
	t.Helper()
	return between(t, "haproxy", func(folder string, port int) (map[string]string, []string) {
		config := fmt.Sprintf(`defaults
  mode %s
  timeout connect 5s
  timeout client 50s
  timeout server 50s
listen it
  bind 127.0.0.1:%d
`, mode, port) + lines
		for i, server := range servers {
			config += fmt.Sprintf("\n  server s%d %s", i, server)
		}
		return map[string]string{"haproxy.cfg": config + "\n"}, []string{"-db", "-f", filepath.Join(folder, "haproxy.cfg")}
	})
}

func TestBehindHAProxyBeforeTheServers(t *testing.T) {
	t.Parallel()
	url := database(t)
	const short = "  timeout client 3s\n  timeout server 3s" // closes what is idle for longer
	postgres, redis := haproxy(t, "tcp", short, postgresServer.Addr()), haproxy(t, "tcp", short, redisServer.Addr())
	s := openSite(t, at(t, url, postgres.Addr()), nil, "--redis-url", at(t, redisServer.URL(), redis.Addr()))
	s.works(3000, func() {
		restarts(t, redis)()
		restarts(t, postgres)()
	})
}

func TestBehindHAProxyBeforeTheService(t *testing.T) {
	t.Parallel()
	isServed(t, func(processes []string) *servertest.Program {
		return haproxy(t, "http", "  option forwardfor", processes...)
	})
}

func TestBehindHAProxyThatPassesBytes(t *testing.T) {
	t.Parallel()
	f := newFront(t, func(processes []string) *servertest.Program { return haproxy(t, "tcp", "", processes...) })
	f.sells(3000)
}
