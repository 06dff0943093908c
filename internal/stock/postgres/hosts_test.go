package postgres

import (
	"testing"
	"time"
)

// TestACancelTellsNothingOfAHost: pgx connects once more to a host that it has given up, to cancel what runs there,
// while it connects to the next one. The host that then has not answered is the next one.
func TestACancelTellsNothingOfAHost(t *testing.T) {
	t.Parallel()
	h := newHosts()
	a, start := &attempts{hosts: h}, time.Now()
	a.next("a:1", start)
	a.next("b:1", start.Add(2*silentFor))
	if !h.hasFailed("a:1") {
		t.Error("a did not answer for two seconds, and has not failed")
	}
	h.answered("a:1")
	a.next("a:1", start.Add(2*silentFor)) // to cancel
	a.next("c:1", start.Add(4*silentFor))
	if h.hasFailed("a:1") || !h.hasFailed("b:1") || h.hasFailed("c:1") {
		t.Errorf("failed: a %v, b %v, c %v; want b alone", h.hasFailed("a:1"), h.hasFailed("b:1"), h.hasFailed("c:1"))
	}
}
