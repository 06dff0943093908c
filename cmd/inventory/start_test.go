package main

import (
	"net"
	"strings"
	"syscall"
	"testing"
)

// TestThreeProcessesStartAtOnce: on an empty database all of them migrate, and all of them sell.
func TestThreeProcessesStartAtOnce(t *testing.T) {
	t.Parallel()
	url := database(t)
	var processes []*process
	for range 3 {
		processes = append(processes, launch(t, "--database-url", url, "--redis-url", redisServer.URL()))
	}
	for _, p := range processes {
		p.listens()
	}
	c := newCrowd(t, 30, processes...)
	c.buy(30, func(int64) {})
	if accepted := c.accepted.Load(); accepted != 30 || len(c.errors) > 0 {
		t.Errorf("%d of 30 were accepted, errors %v", accepted, c.errors)
	}
	for _, p := range processes {
		if code := p.end(syscall.SIGTERM); code != 0 {
			t.Errorf("exit status %d: %s", code, p.log.String())
		}
	}
}

// TestAStartThatIsNotWantedAnyMore ends well, as a service that is stopped later does.
func TestAStartThatIsNotWantedAnyMore(t *testing.T) {
	t.Parallel()
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, args := range map[string][]string{
		"a silent database": {"--database-url", "postgres://u@" + silent.Addr().String() + "/x?sslmode=disable", "--lock", "none"},
		"a silent Redis":    {"--database-url", sqliteFile(t), "--redis-url", "redis://" + silent.Addr().String()},
	} {
		p := launch(t, args...)
		conn, err := silent.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if code := p.end(syscall.SIGTERM); code != 0 || strings.Contains(p.log.String(), "inventory: ") || !strings.Contains(p.log.String(), "stopping") {
			t.Errorf("%s: exit status %d: %s", name, code, p.log.String())
		}
		conn.Close()
	}
}
