package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// defaultConns bounds the pool if the URL's pool_max_conns does not: that many SKUs can be written at once.
const defaultConns = 16

// Open connects to the database at a postgres:// URL, whose schema must be up to date. maxConns bounds the pool;
// 0 leaves it to the URL's pool_max_conns, or is 16. Each of configure may change the configuration of the pool.
func Open(ctx context.Context, databaseURL string, maxConns int32, configure ...func(*pgxpool.Config)) (*Store, error) {
	s, err := openLater(ctx, databaseURL, maxConns, nil, configure...)
	if err != nil {
		return nil, err
	}
	if err := s.Ping(ctx); err != nil {
		return nil, errors.Join(plainly(err), s.Close())
	}
	return s, nil
}

// openLater returns a store that connects for its first statement. Its statements are in a dialect, nil for none.
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
	clock := &serverClock{}
	sessions := newSessions(config.ConnConfig, clock)
	for _, change := range configure {
		change(config)
	}
	sessions.take(config.ConnConfig)
	hosts := newHosts()
	limitStatements(config.ConnConfig, hosts, sessions)
	config.ConnConfig.OnNotification = func(*pgconn.PgConn, *pgconn.Notification) {} // else pgx keeps it for a reader who never comes
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		prepareConnection(c, sessions, hosts)
		return nil
	}
	renewal := newRenewal(hosts)
	renewal.watch(config)
	config.AfterConnect = sessions.note(config.AfterConnect)
	config.PrepareConn = sessions.fits
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the PostgreSQL pool: %w", err)
	}
	renewal.running.Go(func() { renewal.run(pool) })
	s := &Store{
		clock: clock, hosts: hosts, sessions: sessions, listener: listener{config.ConnConfig, sessions, hosts}, renewal: renewal,
	}
	s.use(database{pool, d, sessions})
	s.gather()
	return s, nil
}

// prepareConnection prepares the configuration of one connection of a store.
func prepareConnection(c *pgx.ConnConfig, sessions *sessions, hosts *hosts) {
	sessions.watch(c)
	sessions.mode(c)
	hosts.order(&c.Config)
	neverCancel(&c.Config)
}

// gather creates the gatherers, which let writes share a transaction.
func (s *Store) gather() {
	s.sharing, s.limited = newSharing(withoutLimit), newSharing(withLimit)
	s.orders, s.settlements = newOrderSharing(s), newSettlementSharing(s)
}
