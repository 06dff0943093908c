// Package postgres keeps the stock in PostgreSQL.
//
// A batch is one statement, and therefore one transaction and one round trip (fastpath.go, deduct.sql, and
// deduct_limited.sql where buyers are counted). Batches of different SKUs that wait at the same time share one
// (sharing.go, deduct_shared.sql and deduct_shared_limited.sql). A batch that such a statement cannot write, because a unit is missing or a race
// aborted it, is written by an explicit transaction that reads first (deduct.go). Merges, movements and the expiry of
// reservations are explicit transactions that lock all segment rows of the SKU, ascending (merge.go, movement.go,
// expire.go). Orders of several SKUs share a statement as well (order_shared.go); one that this does not take is a chain of
// batches and merges in one transaction (order.go). A settlement
// locks only the segments to which units go back (settle.go); those of different SKUs share a transaction
// (settle_shared.go).
//
// Everything runs at READ COMMITTED: a statement that waits for a row goes on with the row's newest version, and
// the next statement sees what was committed meanwhile. Only Audit reads in one REPEATABLE READ snapshot.
//
// If the connection is lost during a commit, the outcome is not known. The error then carries no code. The caller
// is told so, and finds out by asking again with the same order id.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/stock"
)

// Store is a [stock.Store] on PostgreSQL 15 or later. It is safe for concurrent use.
type Store struct {
	pool    database
	clock   *serverClock
	hosts   *hosts
	renewal *renewal
	sharing *sharing                               // of batches without a buyer limit
	limited *sharing                               // and with one
	orders  *gatherer[stock.Placement, *time.Time] // of several SKUs

	settlements *gatherer[*settling, []stock.Settled]
	looks       *gatherer[string, look]

	shares bool // its connections are another's
}

var _ stock.Store = (*Store)(nil)

// defaultConns bounds the pool where the URL's pool_max_conns does not: as many SKUs can be written at once.
const defaultConns = 16

// Open connects to the database at a postgres:// URL, whose schema must be up to date. maxConns bounds the pool;
// 0 leaves it to the URL's pool_max_conns, or is 16. Each of configure may change what the pool is made of.
func Open(ctx context.Context, databaseURL string, maxConns int32, configure ...func(*pgxpool.Config)) (*Store, error) {
	s, err := openLater(ctx, databaseURL, maxConns, nil, configure...)
	if err != nil {
		return nil, err
	}
	if err := s.Ping(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// openLater connects when it is first asked for something. Its statements are in a dialect, nil for none.
func openLater(ctx context.Context, databaseURL string, maxConns int32, d *dialect, configure ...func(*pgxpool.Config)) (*Store, error) {
	config, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return nil, fmt.Errorf("read the PostgreSQL URL: %w", err) // pgx keeps the password out of it
	}
	switch {
	case maxConns > 0:
		config.MaxConns = maxConns
	case !strings.Contains(databaseURL, "pool_max_conns"):
		config.MaxConns = defaultConns
	}
	ConnectSoon(config.ConnConfig)
	limitSessions(config.ConnConfig)
	keepPlans(config.ConnConfig)
	for _, change := range configure {
		change(config)
	}
	hosts := newHosts()
	limitStatements(config.ConnConfig, hosts)
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		hosts.order(&c.Config)
		neverCancel(&c.Config)
		return nil
	}
	renewal, clock := newRenewal(hosts), &serverClock{}
	renewal.watch(config)
	config.AfterConnect = clock.watch(config.AfterConnect)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the PostgreSQL pool: %w", err)
	}
	renewal.running.Go(func() { renewal.run(pool) })
	s := &Store{pool: database{pool, d}, clock: clock, hosts: hosts, renewal: renewal}
	s.gather()
	return s, nil
}

// gather makes what lets writes share a transaction.
func (s *Store) gather() {
	s.sharing, s.limited = newSharing(s, s.deductShared), newSharing(s, s.deductSharedLimited)
	s.orders, s.settlements = newOrderSharing(s), newSettlementSharing(s)
	s.looks = newLookSharing(s)
}

// Now implements [stock.Store].
func (s *Store) Now() time.Time { return s.clock.at(time.Now()).UTC() }

// Ping tells whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.pool.Ping(ctx); err != nil {
		return fmt.Errorf("reach PostgreSQL: %w", err)
	}
	return nil
}

// Pool implements [stock.Store]. A call that needs a new connection waits until that is made, and is counted.
func (s *Store) Pool() stock.Pool {
	stat := s.pool.Stat()
	return stock.Pool{
		Open: int(stat.TotalConns()), Busy: int(stat.AcquiredConns()),
		Waits: stat.EmptyAcquireCount(), Waited: stat.EmptyAcquireWaitTime(),
	}
}

// closeLimit is how long Close waits for connections in use. A dead server never answers their statements.
const closeLimit = 2 * time.Second

// Close closes the pool. It waits for connections in use, but no longer than closeLimit.
func (s *Store) Close() error {
	if !s.shares {
		s.renewal.stop()
	}
	closed := make(chan struct{})
	go func() {
		s.sharing.running.Wait()
		s.limited.running.Wait()
		s.orders.running.Wait()
		s.settlements.running.Wait()
		s.looks.running.Wait()
		if !s.shares {
			s.pool.Close()
		}
		close(closed)
	}()
	select {
	case <-closed:
		return nil
	case <-time.After(closeLimit):
		return errors.New("PostgreSQL connections are still in use")
	}
}

// SQLSTATEs. The first three say that a constraint fired: a CHECK; the class of all constraints; and the class of values
// that no column takes. The others abort the statement of a batch, the last two while it waits for a lock.
const (
	uniqueViolation      = "23505"
	checkViolation       = "23514"
	constraintViolation  = "23"
	dataException        = "22"
	divisionByZero       = "22012"
	cardinalityViolation = "21000"
	lockNotAvailable     = "55P03"
	deadlockDetected     = "40P01"
)

// translate marks an error as ErrGuard if a constraint fired: none of our statements should ever violate one.
func translate(err error) error {
	if state := stateOf(err); strings.HasPrefix(state, constraintViolation) || strings.HasPrefix(state, dataException) {
		return fmt.Errorf("%w: %w", stock.ErrGuard, err)
	}
	return err
}

// stateOf returns the SQLSTATE of an error, "" if PostgreSQL has not sent it.
func stateOf(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}
