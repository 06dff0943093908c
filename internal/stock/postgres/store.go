// Package postgres keeps the stock in PostgreSQL.
//
// A batch is one statement, and therefore one transaction and one round trip (deduct.go, deduct.sql). Batches of different SKUs that wait
// at the same time share one (sharing.go, take_together.sql and take_each.sql). A batch that such a statement cannot write, because a unit
// is missing or a race aborted it, is written by an explicit transaction that reads first (deduct.go). Merges, movements and
// the expiry of reservations are explicit transactions that lock all segment rows of the SKU, ascending (package tables).
// Orders of several SKUs share a statement as well; an order that this statement does not take is a chain
// of batches and merges in one transaction (order.go). A settlement that may give units back locks all segments
// of its SKU, a commit none (settle.go); settlements of different SKUs share a transaction.
//
// Everything runs at READ COMMITTED: a statement that waits for a row goes on with the row's newest version, and
// the next statement sees what was committed meanwhile. Only Audit reads in one REPEATABLE READ snapshot.
//
// If the connection is lost during a commit, the outcome is not known. The error then has no code, and is not
// [stock.ErrUnwritten] (errors.go). The caller gets it, and learns the outcome when it sends the same order id again.
//
// Statements stand in .sql files, by name. How they reach the tables is an [Access].
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
	"inventory/internal/stock/tables"
)

// Store is a [stock.Store] on PostgreSQL 15 or later. It is safe for concurrent use.
type Store struct {
	tables.Base
	pool     database // its Base.DB
	clock    *serverClock
	sessions *sessions
	listener listener
	renewal  *renewal
	sharing  *sharing

	settlements *gatherer[settling, []stock.Settled]

	shares bool // its connections belong to another store, which closes them
}

var _ stock.Store = (*Store)(nil)

// defaultConns bounds the pool if the URL's pool_max_conns does not: that many SKUs can be written at once.
const defaultConns = 16

// Open connects to the database at a postgres:// URL, whose schema must be up to date. maxConns bounds the pool;
// 0 leaves it to the URL's pool_max_conns, or is 16. Each of configure may change the configuration of the pool.
func Open(ctx context.Context, databaseURL string, maxConns int32, configure ...func(*pgxpool.Config)) (*Store, error) {
	s, err := OpenLater(ctx, databaseURL, maxConns, Access{SQL: statements().Of}, configure...)
	if err != nil {
		return nil, err
	}
	if err := s.Ping(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// OpenLater returns a store that connects for its first statement, with an access to its tables.
func OpenLater(ctx context.Context, databaseURL string, maxConns int32, access Access, configure ...func(*pgxpool.Config)) (*Store, error) {
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
	connectSoon(config.ConnConfig)
	clock := &serverClock{}
	sessions := newSessions(config.ConnConfig, clock)
	for _, change := range configure {
		change(config)
	}
	sessions.takeSettings(config.ConnConfig)
	config.ConnConfig.OnNotification = func(*pgconn.PgConn, *pgconn.Notification) {} // else pgx keeps it for a reader who never comes
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		sessions.prepare(c)
		return nil
	}
	config.AfterConnect = sessions.note(config.AfterConnect)
	config.PrepareConn = sessions.fits
	renewal := &renewal{}
	pool, err := renewal.open(ctx, config, sessions)
	if err != nil {
		return nil, fmt.Errorf("open the PostgreSQL pool: %w", err)
	}
	sessions.server = &demotion{close: pool.Reset, listeners: make(map[*context.CancelCauseFunc]struct{})}
	s := &Store{clock: clock, sessions: sessions, listener: listener{config.ConnConfig, sessions}, renewal: renewal}
	s.use(database{Pool: pool, access: access, sessions: sessions, swept: &tables.Swept{}})
	s.sharing, s.settlements = newSharing(), newSettlementSharing(s)
	return s, nil
}

// Now implements [stock.Store].
func (s *Store) Now() time.Time { return s.clock.at(time.Now()).UTC() }

// Ping returns an error unless the database answers.
func (s *Store) Ping(ctx context.Context) error {
	err := s.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error { return s.pool.access.limited(ctx, conn.Ping) })
	if err != nil {
		return fmt.Errorf("reach PostgreSQL: %w", err)
	}
	return nil
}

// Ready implements [stock.Store].
func (s *Store) Ready(ctx context.Context) error {
	var readOnly bool
	var lacks string
	if err := tables.Single(ctx, s.pool, []any{&readOnly, &lacks}, "readiness"); err != nil {
		return fmt.Errorf("reach PostgreSQL: %w", err)
	}
	switch {
	case readOnly:
		return fmt.Errorf("%w: it is a standby or read-only", stock.ErrNotWritable)
	case lacks != "":
		return fmt.Errorf("%w: the role lacks %s", stock.ErrNotWritable, lacks)
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
	closed := make(chan struct{})
	go func() {
		s.sharing.Close()
		s.settlements.Close()
		s.pool.Close()
		s.renewal.running.Wait()
		close(closed)
	}()
	select {
	case <-closed:
		return nil
	case <-time.After(closeLimit):
		return errors.New("PostgreSQL connections are still in use")
	}
}
