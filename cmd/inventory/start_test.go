package main

import (
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
