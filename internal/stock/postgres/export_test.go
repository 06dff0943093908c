package postgres

import (
	"context"
	"time"

	"inventory/internal/stock/tables"
)

// Sharing says which batches share a write.
type Sharing = tables.Sharing

// The ways to share.
const (
	ShareWaiting = tables.ShareWaiting
	ShareNothing = tables.ShareNothing
	ShareAll     = tables.ShareAll
)

// SetSharing sets which batches share a write. Call it only while the store is not in use.
func (s *Store) SetSharing(which tables.Sharing) { s.sharing.which = which }

// HoldWriter lets no shared write begin, until that many batches wait and it is released.
func (s *Store) HoldWriter() (letGo func(waiting int)) {
	letWrite := s.HoldOrders()
	return func(waiting int) {
		for s.sharing.waits() < waiting {
			time.Sleep(time.Millisecond)
		}
		letWrite()
	}
}

func (g *gatherer[W, A]) waits() int {
	waiting, _ := g.State()
	return waiting
}

// Waits returns when that many batches wait.
func (s *Store) Waits(batches int) { s.sharing.await(batches) }

// HoldOrders lets no shared write of orders begin until it is released.
func (s *Store) HoldOrders() (letGo func()) { return s.sharing.hold(taking{}) }

// HoldSettlements is HoldOrders for settlements.
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

// OrdersWait returns when that many orders wait.
func (s *Store) OrdersWait(orders int) { s.sharing.await(orders) }

// SettlementsWait returns when that many settlements wait.
func (s *Store) SettlementsWait(settlements int) { s.settlements.await(settlements) }

func (g *gatherer[W, A]) await(writes int) {
	for g.waits() != writes {
		time.Sleep(time.Millisecond)
	}
}

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
