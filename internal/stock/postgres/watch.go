package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A restock sends the SKU's id on this channel. A deduction never does: transactions that notify commit one after another.
const (
	listen = `LISTEN inventory_restocked`
	notify = `SELECT pg_notify('inventory_restocked', $1)`
)

const (
	silence    = 2 * time.Second // after this long without a notification the connection is pinged
	askTimeout = time.Second
	byeTimeout = time.Second
)

// Watch implements [stock.Store] on a connection of its own, which takes no place in the pool. The URL must lead to a
// session: behind a pooler that shares connections between transactions, no notification arrives.
func (s *Store) Watch(ctx context.Context, listening func(), restocked func(sku string)) error {
	config := s.pool.Config().ConnConfig
	config.RuntimeParams["application_name"] = "inventory notices"
	s.hosts.order(&config.Config)
	neverCancel(&config.Config)
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connect for notifications: %w", err)
	}
	defer func() {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), byeTimeout)
		defer cancel()
		conn.Close(bye)
		conn.PgConn().Conn().Close() // after a failed statement pgx would still wait for an answer
	}()
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	_, err = conn.Exec(asking, listen)
	cancel()
	if err != nil {
		return fmt.Errorf("listen for notifications: %w", err)
	}
	listening()
	for {
		switch notification, err := nextNotification(ctx, conn); {
		case err != nil:
			return fmt.Errorf("wait for notifications: %w", err)
		case notification != nil:
			restocked(notification.Payload)
		}
	}
}

// nextNotification returns nil if none came for a while and the connection lives. Without that check Watch would wait for a
// server that has gone.
func nextNotification(ctx context.Context, conn *pgx.Conn) (*pgconn.Notification, error) {
	quiet, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	notification, err := conn.WaitForNotification(quiet)
	if notification != nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
		return notification, err
	}
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return nil, conn.Ping(asking)
}
