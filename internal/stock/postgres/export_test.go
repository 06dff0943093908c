package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/busytest"
	"inventory/internal/stock/tables"
)

// OpenPatiently is Open for a test that runs in real time, on a machine of any speed: it gives up no statement and no connection, and
// the server gives up none of its sessions.
func OpenPatiently(ctx context.Context, databaseURL string, maxConns int32, configure ...func(*pgxpool.Config)) (*Store, error) {
	all := Statements()
	access := Access{SQL: all.Of, Limit: busytest.Patience}
	patient := func(c *pgxpool.Config) {
		c.PingTimeout, c.ConnConfig.ConnectTimeout = busytest.Patience, busytest.Patience
		c.ConnConfig.DialFunc = new(net.Dialer).DialContext
		for _, limit := range []string{"lock_timeout", "idle_in_transaction_session_timeout"} {
			c.ConnConfig.RuntimeParams[limit] = fmt.Sprint(busytest.Patience.Milliseconds())
		}
	}
	s, err := OpenLater(ctx, databaseURL, maxConns, access, append([]func(*pgxpool.Config){patient}, configure...)...)
	if err != nil {
		return nil, err
	}
	if err := s.pool.Ping(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Sharing says which batches share a write.
type Sharing uint8

// The ways to share.
const (
	ShareWaiting Sharing = iota // those that wait at the same time
	ShareNothing                // for good
	ShareAll                    // also a batch that could go by itself
)

// SetSharing sets which batches share a write. Call it only while the store is not in use.
func (s *Store) SetSharing(which Sharing) {
	s.sharing.alone.Store(0)
	switch which {
	case ShareAll: // as if another batch were always under way
		s.sharing.alone.Store(1)
	case ShareNothing: // what wants to share finds no writer
		s.sharing.Close()
		s.settlements.Close()
	}
}

// HoldWriter lets no shared write of batches and orders begin until it is released.
func (s *Store) HoldWriter() (letGo func()) { return s.sharing.hold(sharedItem{}) }

// HoldSettlements is HoldWriter for settlements.
func (s *Store) HoldSettlements() (letGo func()) {
	return s.settlements.hold(settling{Settling: &tables.Settling{}})
}

// hold keeps the writer busy with a write that writes nothing, until it is released.
func (g *gatherer[W, A]) hold(nothing W) (letGo func()) {
	held, released := make(chan struct{}), make(chan struct{})
	g.Push(&sharedWrite[W, A]{write: nothing, begin: func(*sharedWrite[W, A]) bool {
		close(held)
		<-released
		return false
	}})
	<-held
	return func() { close(released) }
}

// Waiting returns how many batches and orders, and how many settlements, wait for their writers.
func (s *Store) Waiting() (writes, settlements int) {
	writes, _ = s.sharing.State()
	settlements, _ = s.settlements.State()
	return writes, settlements
}

// WriterWait is how long a write waits for its writer.
const WriterWait = writerWait

// ClockSetForward acts as if the server's clock had been set forward since this process read it, a minute ago.
func (s *Store) ClockSetForward(by time.Duration) {
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	s.clock.best.after = s.clock.best.after.Add(-time.Minute)
	s.clock.best.earliest, s.clock.best.latest = s.clock.best.earliest.Add(-time.Minute-by), s.clock.best.latest.Add(-time.Minute-by)
}

// ClockReadSlowly acts as if the only look at the server's clock so far had taken that long after the clock was read.
func (s *Store) ClockReadSlowly(took time.Duration) {
	server := s.Now()
	s.clock.mu.Lock()
	s.clock.best = reading{}
	s.clock.mu.Unlock()
	s.clock.note(time.Now().Add(-took), server.Add(-took))
}

// WaitedLong is how old the instant of a decision may be when its last row is written.
const WaitedLong = waitedLong

// Gather returns functions of one gatherer, whose transactions have at most five writes: one adds a write, carried out
// by carry; one waits for the writer, after all writes.
func Gather(carry func(writes []int) ([]int, error)) (
	together func(ctx context.Context, deadline time.Time, write int) (int, error), wait func(),
) {
	room := func() func(int) bool {
		left := 5
		return func(int) bool { left--; return left >= 0 }
	}
	g := newGatherer(room, func(_ context.Context, _ time.Time, writes []int) ([]int, error) { return carry(writes) })
	return g.together, g.Close
}

// Connect makes that many connections, and gives them back to the pool.
func (s *Store) Connect(ctx context.Context, connections int) error {
	for range connections {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
	}
	return nil
}

// HoldConnection takes a connection of the pool until it is released; then the connection is closed.
func (s *Store) HoldConnection(ctx context.Context) (release func(), err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return func() {
		_ = conn.Conn().Close(ctx)
		conn.Release()
	}, nil
}
