package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Standby reads what a standby of the database has. It may be behind the primary.
type Standby struct {
	lists
	store *Store
}

// lists are the reads whose answers may be a little behind.
type lists interface {
	Summaries(ctx context.Context, after string, limit int) ([]stock.Summary, error)
	Movements(ctx context.Context, sku string, after stock.Position, limit int) ([]stock.Movement, error)
	DeductionPage(ctx context.Context, query stock.DeductionQuery) (stock.DeductionPage, error)
	Close() error // closes the pool
}

// OpenStandby reads from the server at a postgres:// URL. The server need not be there yet. Each of configure may change the
// configuration of the pool.
func OpenStandby(ctx context.Context, databaseURL string, configure ...func(*pgxpool.Config)) (*Standby, error) {
	store, err := openLater(ctx, databaseURL, 0, nil, configure...)
	if err != nil {
		return nil, err
	}
	return &Standby{store, store}, nil
}

// farBehind is how old the answers of a standby may be while it still catches up.
const farBehind = 10 * time.Second

// A server that was promoted is not behind. A standby that has replayed all that it has received is up to date, as far as it
// knows, and it receives from the primary while it has a receiver.
const isBehind = `
SELECT pg_is_in_recovery() AND (
    NOT EXISTS (SELECT FROM pg_stat_wal_receiver)
    OR pg_last_wal_receive_lsn() <> pg_last_wal_replay_lsn()
       AND coalesce(pg_last_xact_replay_timestamp() < now() - $1::bigint * interval '1 microsecond', true))`

// ErrBehind means that a standby does not follow its primary, or not closely.
var ErrBehind = errors.New("the standby does not follow its primary")

// Check returns nil if the standby answers and follows its primary.
func (s *Standby) Check(ctx context.Context) error {
	var behind bool
	if err := tables.Single(ctx, s.store.pool, []any{&behind}, isBehind, farBehind.Microseconds()); err != nil {
		return fmt.Errorf("reach the standby: %w", err)
	}
	if behind {
		return ErrBehind
	}
	return nil
}
