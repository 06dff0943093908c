package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/stock/tables"
)

const (
	listen = `LISTEN inventory_restocked; LISTEN inventory_echo` // see server.sql
	echoes = "inventory_echo"
)

const (
	silence    = 2 * time.Second // after this long without a notification the connection is pinged
	askTimeout = time.Second
	byeTimeout = time.Second
)

// ErrDeaf says that no notification can arrive here.
var ErrDeaf = errors.New("no notification arrives: a pooler shares connections, or the direct URL leads to another database")

// listener is where a store listens for notifications: its own URL, or another one that leads to a session of its own.
type listener struct {
	config   *pgx.ConnConfig
	sessions *sessions
}

// ListenAt makes [Store.Watch] listen at another URL. It must lead to the same database, and to a session that lasts as long as
// its connection.
func (s *Store) ListenAt(databaseURL string) error {
	config, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return fmt.Errorf("read the direct URL: %w", err) // pgx keeps the password out of it
	}
	connectSoon(config.ConnConfig)
	s.listener = listener{config.ConnConfig, newSessions(config.ConnConfig, nil)}
	return nil
}

// Watch implements [stock.Store] on a connection of its own, which takes no place in the pool.
func (s *Store) Watch(ctx context.Context, listening func(), restocked func(sku string)) error {
	if s.listener.sessions.shared.Load() {
		return ErrDeaf
	}
	ctx, over := s.sessions.server.listening(ctx)
	defer over()
	conn, err := s.connectToListen(ctx)
	if err != nil {
		return err
	}
	defer func() {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), byeTimeout)
		defer cancel()
		conn.Close(bye)
		conn.PgConn().Conn().Close() // after a failed statement pgx would still wait for an answer
	}()
	if err := s.hearEcho(ctx, conn); err != nil {
		return err
	}
	listening()
	for {
		switch notification, err := s.nextNotification(ctx, conn); {
		case err != nil:
			return fmt.Errorf("wait for notifications: %w", err)
		case notification != nil && notification.Channel != echoes:
			restocked(notification.Payload)
		}
	}
}

// connectToListen opens the connection.
func (s *Store) connectToListen(ctx context.Context) (*pgx.Conn, error) {
	config := s.listener.config.Copy()
	config.RuntimeParams["application_name"] = "inventory notices"
	config.OnNotification = nil // pgx keeps each one until it is read
	s.listener.sessions.prepare(config)
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect for notifications: %w", err)
	}
	return conn, nil
}

// hearEcho listens, and has another connection send a notification. Only if that arrives, others do. It does not listen in a
// session that is shared: the session would go on to listen for whoever has it next.
func (s *Store) hearEcho(ctx context.Context, conn *pgx.Conn) error {
	if s.listener.sessions.shared.Load() {
		return ErrDeaf
	}
	asking, cancel := context.WithTimeout(ctx, s.sessions.pace.connect(s.listener.config, askTimeout))
	defer cancel()
	if _, err := conn.Exec(asking, listen); err != nil {
		return fmt.Errorf("listen for notifications: %w", err)
	}
	mine := rand.Text()
	if err := s.pool.writing().Each(asking, func(tables.Row) error { return nil }, "echo", mine); err != nil {
		return fmt.Errorf("send a notification: %w", err)
	}
	for asked := time.Now(); ; {
		switch notification, err := s.nextNotification(ctx, conn); {
		case err != nil:
			return fmt.Errorf("wait for an echo: %w", err)
		case notification != nil && notification.Channel == echoes && notification.Payload == mine:
			return nil
		case notification == nil, time.Since(asked) > silence+s.sessions.pace.ping(askTimeout): // it is silent, or hears what others say in another database
			return ErrDeaf
		}
	}
}

// nextNotification returns nil if none came for a while and the connection lives. Without that check Watch would wait for a
// server that has gone.
func (s *Store) nextNotification(ctx context.Context, conn *pgx.Conn) (*pgconn.Notification, error) {
	quiet, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	notification, err := conn.WaitForNotification(quiet)
	if notification != nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
		return notification, err
	}
	if err := s.ping(ctx, conn); err != nil {
		return nil, err
	}
	notification, _ = conn.WaitForNotification(quiet) // it is over: only one that came before the answer to the ping
	return notification, nil
}

func (s *Store) ping(ctx context.Context, conn *pgx.Conn) error {
	asking, cancel := context.WithTimeout(ctx, s.sessions.pace.ping(askTimeout))
	defer cancel()
	return conn.Ping(asking)
}
