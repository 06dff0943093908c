package postgres

import (
	"context"
	_ "embed"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// serverClock knows the server's clock from what statements have read of it. A statement read the clock between the
// instant when it was sent and the instant when its answer came. If both clocks run equally fast, this tells for any
// later instant here what the server's clock shows at least.
//
// So a deadline of this process can be told to the server in the server's time, even if the two clocks differ. A
// statement that the network delays then finds out by itself that it is too late.
type serverClock struct {
	mu   sync.RWMutex
	best reading
}

// reading is what one statement has read.
type reading struct {
	server time.Time
	after  time.Time     // when its answer was here, by the monotonic clock
	unsure time.Duration // how long the statement took
}

// unsureGrows is how fast a reading gets old: its uncertainty grows by a tenth of its age. A new reading that is less
// uncertain replaces it. The server's clock may have been set, or another server may have taken over.
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

// at is the time that the server's clock has at an instant here, or a little less.
func (c *serverClock) at(here time.Time) time.Time {
	c.mu.RLock()
	best := c.best
	c.mu.RUnlock()
	return best.server.Add(here.Sub(best.after))
}

const selectClock = `SELECT clock_timestamp()`

// watch makes every new connection read the clock first: it may lead to another server.
func (c *serverClock) watch(next func(context.Context, *pgx.Conn) error) func(context.Context, *pgx.Conn) error {
	return func(ctx context.Context, conn *pgx.Conn) error {
		sent := time.Now()
		var server time.Time
		if err := conn.QueryRow(ctx, selectClock, pgx.QueryExecModeSimpleProtocol).Scan(&server); err != nil {
			return err
		}
		c.note(sent, server)
		if next == nil {
			return nil
		}
		return next(ctx, conn)
	}
}

// deadline converts an instant of this process to the server's clock, for a statement.
func (s *Store) deadline(here time.Time) *time.Time {
	if here.IsZero() {
		return nil
	}
	there := s.clock.at(here)
	return &there
}
