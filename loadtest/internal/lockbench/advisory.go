package lockbench

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/loadtest/internal/servers"
)

const advisoryName = "PostgreSQL advisory"

// advisory is PostgreSQL's advisory lock of a session. A holder, and a waiter too, needs a connection for itself.
func advisory() kind {
	return kind{name: advisoryName, open: openAdvisory}
}

func openAdvisory(ctx context.Context, s servers.URLs, callers int) (client, error) {
	config, err := pgxpool.ParseConfig(s.DatabaseURL)
	if err != nil {
		return nil, errors.New("database URL: must be postgres://USER:PASSWORD@HOST:PORT/DATABASE") // err may quote a password
	}
	config.MaxConns = int32(callers)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("reach PostgreSQL: %w", err)
	}
	c := &advisoryClient{pool: pool}
	if err := c.warm(ctx, callers); err != nil {
		pool.Close()
		return nil, fmt.Errorf("reach PostgreSQL: %w", err)
	}
	return c, nil
}

type advisoryClient struct {
	pool *pgxpool.Pool
	sent atomic.Int64
}

// warm opens all connections, prepares the statements, and leaves the connections in the pool.
func (c *advisoryClient) warm(ctx context.Context, connections int) error {
	for range connections {
		conn, err := c.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		held := &advisoryHold{c, conn, 0}
		if err := held.exec(ctx, lockSQL); err != nil {
			return err
		}
		if err := held.exec(ctx, unlockSQL); err != nil {
			return err
		}
	}
	return nil
}

func (c *advisoryClient) commands() int64 { return c.sent.Load() }

func (c *advisoryClient) handle(name string) handle {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name)) // a hash never refuses
	return advisoryHandle{c, int64(hash.Sum64())}
}

func (c *advisoryClient) close() error {
	c.pool.Close()
	return nil
}

const (
	lockSQL   = "select pg_advisory_lock($1)"
	unlockSQL = "select pg_advisory_unlock($1)"
)

type advisoryHandle struct {
	client *advisoryClient
	key    int64
}

func (h advisoryHandle) lock(ctx context.Context) (hold, error) {
	conn, err := h.client.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	held := &advisoryHold{h.client, conn, h.key}
	if err := held.exec(ctx, lockSQL); err != nil {
		conn.Release()
		return nil, err
	}
	return held, nil
}

type advisoryHold struct {
	client *advisoryClient
	conn   *pgxpool.Conn
	key    int64
}

// Unlock implements hold.
func (h *advisoryHold) Unlock(ctx context.Context) error {
	defer h.conn.Release()
	return h.exec(ctx, unlockSQL)
}

func (h *advisoryHold) exec(ctx context.Context, statement string) error {
	h.client.sent.Add(1)
	_, err := h.conn.Exec(ctx, statement, h.key)
	return err
}
