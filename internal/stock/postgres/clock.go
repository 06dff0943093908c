package postgres

import (
	"sync"
	"time"
)

// serverClock knows the server's clock from what statements have read of it. A statement read the clock between the
// instant when it was sent and the instant when its answer came. If both clocks run equally fast, this gives for any
// later instant here the earliest time that the server's clock can show.
//
// So this process can send the server a deadline in the server's time, even if the two clocks differ. A statement that
// the network delays then notices by itself that it is too late.
type serverClock struct {
	mu   sync.RWMutex
	best reading
}

// reading is what one statement has read.
type reading struct {
	server time.Time
	after  time.Time     // when its answer arrived, by the monotonic clock
	unsure time.Duration // how long the statement took
}

// unsureGrows makes the uncertainty of a reading grow by a tenth of its age: the server's clock may have been set, or
// another server may have taken over. A new reading that is less uncertain replaces it.
const unsureGrows = 10

// note takes a reading of the server's clock, by a statement that was sent at an instant and has been answered now.
func (c *serverClock) note(sent, server time.Time) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if unsure := now.Sub(sent); c.best.server.IsZero() || unsure <= c.best.unsure+now.Sub(c.best.after)/unsureGrows {
		c.best = reading{server: server, after: now, unsure: unsure}
	}
}

// at returns the time that the server's clock has at an instant here, or a little less.
func (c *serverClock) at(here time.Time) time.Time {
	c.mu.RLock()
	best := c.best
	c.mu.RUnlock()
	return best.server.Add(here.Sub(best.after))
}

// deadline converts an instant of this process to the server's clock, for a statement.
func (s *Store) deadline(here time.Time) *time.Time {
	if here.IsZero() {
		return nil
	}
	there := s.clock.at(here)
	return &there
}
