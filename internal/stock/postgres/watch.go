package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Restocks tell the SKU's id on this channel. A deduction never does: at their commits, transactions that notify go
// one after another.
const (
	listen = `LISTEN inventory_restocked`
	notify = `SELECT pg_notify('inventory_restocked', $1)`
)

const (
	silence    = 2 * time.Second // after this long without a notice the connection is asked whether it lives
	askTimeout = time.Second
	byeTimeout = time.Second
)

// Watch implements [stock.Store] on a connection of its own, which takes no place in the pool. The URL must lead to a
// session: behind a pooler that shares connections between transactions no notice arrives.
func (s *Store) Watch(ctx context.Context, listening func(), restocked func(sku string)) error {
	config := s.pool.Config().ConnConfig
	config.RuntimeParams["application_name"] = "inventory notices"
	neverCancel(&config.Config)
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connect for notices: %w", err)
	}
	defer func() {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), byeTimeout)
		defer cancel()
		conn.Close(bye)
		conn.PgConn().Conn().Close() // where a statement has ended it, pgx still waits for an answer
	}()
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	_, err = conn.Exec(asking, listen)
	cancel()
	if err != nil {
		return fmt.Errorf("listen for notices: %w", err)
	}
	listening()
	for {
		switch notice, err := nextNotice(ctx, conn); {
		case err != nil:
			return fmt.Errorf("wait for notices: %w", err)
		case notice != nil:
			restocked(notice.Payload)
		}
	}
}

// nextNotice returns no notice when none came for a while and the connection is well: a server that has gone without a
// word would be waited for otherwise.
func nextNotice(ctx context.Context, conn *pgx.Conn) (*pgconn.Notification, error) {
	quiet, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	notice, err := conn.WaitForNotification(quiet)
	if notice != nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
		return notice, err
	}
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return nil, conn.Ping(asking)
}
