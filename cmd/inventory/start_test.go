package main

import (
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"inventory/internal/busytest"
)

// TestThreeProcessesStartAtOnce: on an empty database all of them migrate, and all of them sell.
func TestThreeProcessesStartAtOnce(t *testing.T) {
	busytest.Slow(t)
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
	for name, args := range map[string]func(address string) []string{
		"a silent database": func(address string) []string {
			return []string{"--database-url", "postgres://u@" + address + "/x?sslmode=disable", "--lock", "none"}
		},
		"a silent Redis": func(address string) []string {
			return []string{"--database-url", sqliteFile(t), "--redis-url", "redis://" + address}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := interrupted(t, args, syscall.SIGTERM)
			if strings.Contains(p.log.String(), "inventory: ") || !strings.Contains(p.log.String(), "stopping") {
				t.Errorf("it says %s", p.log.String())
			}
		})
	}
}

// interrupted sends signals to a process that waits for an answer of its server, whose address args gets. It checks that they end the
// process well, while the server goes on saying nothing. A process that has given its server up by then is no subject of this test:
// another one is started.
func interrupted(t *testing.T, args func(address string) []string, signals ...syscall.Signal) (p *process) {
	t.Helper()
	busytest.Soon(t, "the signals have come before a process gives its server up", func() bool {
		silent, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err == nil {
			err = silent.SetDeadline(time.Now().Add(busytest.Patience))
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := silent.Close(); err != nil {
				t.Error(err)
			}
		}()
		p = launch(t, args(silent.Addr().String())...)
		conn, err := silent.Accept()
		if err != nil {
			t.Fatal("the process does not ask its server: ", err)
		}
		defer conn.Close()
		last := len(signals) - 1
		for _, signal := range signals[:last] {
			p.signal(signal)
		}
		code := p.end(signals[last])
		if code == statusFailed {
			return false
		}
		if code != 0 {
			t.Errorf("exit status %d: %s", code, p.log.String())
		}
		return true
	})
	return p
}
