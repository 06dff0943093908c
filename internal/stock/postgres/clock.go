package postgres

import (
	"sync"
	"time"
)

// serverClock knows the server's clock from what statements have read of it, as an interval. A statement read the clock between
// the instant when it was sent and the instant when its answer came: at that last instant the server's clock showed what was
// read, or up to the time that the statement took more. Each reading makes the interval smaller, and a slow one does no harm.
//
// So this process can send the server a deadline in the server's time, even if the two clocks differ. A statement that
// the network delays then notices by itself that it is too late. An instant that must not be too late is the earliest time that
// the server's clock can show, one that must not be too early the latest.
type serverClock struct {
	mu   sync.RWMutex
	best reading
}

// reading is what statements have read: at an instant here the server's clock showed a time in an interval.
type reading struct {
	earliest, latest time.Time
	after            time.Time // the instant here, by the monotonic clock
}

// clocksDrift bounds how much two clocks drift apart: by one part in a thousand. Daemons slew them by half of that at most.
const clocksDrift = 1000

// at returns the reading as it is at an instant here.
func (r reading) at(here time.Time) reading {
	age := here.Sub(r.after)
	drift := age.Abs() / clocksDrift
	return reading{earliest: r.earliest.Add(age - drift), latest: r.latest.Add(age + drift), after: here}
}

// note takes a reading of the server's clock, by a statement that was sent at an instant and has been answered now. If it
// contradicts what is known, the clock was set, or another server has taken over: then it replaces that.
func (c *serverClock) note(sent, server time.Time) {
	now := time.Now()
	read := reading{earliest: server, latest: server.Add(now.Sub(sent)), after: now}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.best.at(now)
	if c.best.after.IsZero() || read.earliest.After(known.latest) || read.latest.Before(known.earliest) {
		c.best = read
		return
	}
	if known.earliest.After(read.earliest) {
		read.earliest = known.earliest
	}
	if known.latest.Before(read.latest) {
		read.latest = known.latest
	}
	c.best = read
}

// between returns the earliest and the latest time that the server's clock can show at an instant here. Before the first
// reading that is long ago.
func (c *serverClock) between(here time.Time) (earliest, latest time.Time) {
	c.mu.RLock()
	best := c.best
	c.mu.RUnlock()
	if best.after.IsZero() {
		return time.Time{}, time.Time{}
	}
	now := best.at(here)
	return now.earliest, now.latest
}

// at returns the earliest time that the server's clock can show at an instant here.
func (c *serverClock) at(here time.Time) time.Time {
	earliest, _ := c.between(here)
	return earliest
}

// deadline converts an instant of this process to the server's clock, for a statement.
func (s *Store) deadline(here time.Time) *time.Time {
	if here.IsZero() {
		return nil
	}
	there := s.clock.at(here)
	return &there
}

// Clock implements [stock.Store].
func (s *Store) Clock(string) (earliest, latest time.Time) {
	earliest, latest = s.clock.between(time.Now())
	return earliest.UTC(), latest.UTC()
}
