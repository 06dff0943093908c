// Package postgres keeps the stock in PostgreSQL.
//
// A batch is one statement, and therefore one transaction and one round trip (fastpath.go, deduct.sql, and
// deduct_limited.sql if buyers are counted). Batches of different SKUs that wait at the same time share one
// (sharing.go, deduct_shared.sql and deduct_shared_limited.sql). A batch that such a statement cannot write, because a unit
// is missing or a race aborted it, is written by an explicit transaction that reads first (deduct.go). Merges, movements and
// the expiry of reservations are explicit transactions that lock all segment rows of the SKU, ascending (package tables).
// Orders of several SKUs share a statement as well (order_shared.go); an order that this statement does not take is a chain
// of batches and merges in one transaction (order.go). A settlement locks only the segments to which units go back
// (settle.go); settlements of different SKUs share a transaction (settle_shared.go).
//
// Everything runs at READ COMMITTED: a statement that waits for a row goes on with the row's newest version, and
// the next statement sees what was committed meanwhile. Only Audit reads in one REPEATABLE READ snapshot.
//
// If the connection is lost during a commit, the outcome is not known. The error then has no code, and is not
// [stock.ErrUnwritten] (unwritten.go). The caller gets it, and learns the outcome when it sends the same order id again.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Store is a [stock.Store] on PostgreSQL 15 or later. It is safe for concurrent use.
type Store struct {
	tables.Base
	pool     database // its Base.DB
	clock    *serverClock
	hosts    *hosts
	sessions *sessions
	listener listener
	renewal  *renewal
	sharing  *sharing                               // of batches without a buyer limit
	limited  *sharing                               // of batches with one
	orders   *gatherer[stock.Placement, *time.Time] // of several SKUs

	settlements *gatherer[*settling, []stock.Settled]

	shares bool // its connections belong to another store, which closes them
}

var _ stock.Store = (*Store)(nil)

// Now implements [stock.Store].
func (s *Store) Now() time.Time { return s.clock.at(time.Now()).UTC() }

// Ping returns an error unless the database answers.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.pool.Ping(ctx); err != nil {
		return fmt.Errorf("reach PostgreSQL: %w", err)
	}
	return nil
}

// Pool implements [stock.Store]. A call that needs a new connection waits until it is made, and counts among Waits.
func (s *Store) Pool() stock.Pool {
	stat := s.pool.Stat()
	return stock.Pool{
		Open: int(stat.TotalConns()), Busy: int(stat.AcquiredConns()),
		Waits: stat.EmptyAcquireCount(), Waited: stat.EmptyAcquireWaitTime(),
	}
}

// closeLimit is how long Close waits for connections in use. A dead server never answers their statements.
const closeLimit = 2 * time.Second

// Close closes the pool, unless it belongs to another store. It waits for connections in use, but no longer than closeLimit.
func (s *Store) Close() error {
	if s.shares {
		return nil
	}
	s.renewal.stop()
	closed := make(chan struct{})
	go func() {
		s.sharing.close()
		s.limited.close()
		s.orders.close()
		s.settlements.close()
		s.pool.Close()
		close(closed)
	}()
	select {
	case <-closed:
		return nil
	case <-time.After(closeLimit):
		return errors.New("PostgreSQL connections are still in use")
	}
}
