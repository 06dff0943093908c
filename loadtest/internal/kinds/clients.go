package kinds

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"inventory/loadtest/internal/servers"
)

const (
	// patience bounds a connect, and the wait for an answer.
	patience = 10 * time.Second
	// spare connections to Redis are for what a library does in addition to its callers.
	spare = 8
)

// OpenRedis connects to a Redis as a setting says.
func OpenRedis(ctx context.Context, redisURL string, s Setting) (*redis.Client, error) {
	options, err := servers.RedisOptions(redisURL)
	if err != nil {
		return nil, err
	}
	options.MaxRetries, options.DialerRetries = -1, 1
	options.ContextTimeoutEnabled, options.DisableIdentity = true, true
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = patience, patience, patience
	options.PoolSize = s.Connections + spare
	if s.TLSName != "" && options.TLSConfig != nil {
		options.TLSConfig.ServerName = s.TLSName
	}
	rdb := redis.NewClient(options)
	if s.Meter != nil {
		rdb.AddHook(s.Meter)
	}
	if err := warm(s.Connections, func() (func(), error) {
		conn := rdb.Conn()
		return func() { _ = conn.Close() }, conn.Ping(ctx).Err()
	}); err != nil {
		return nil, errors.Join(fmt.Errorf("reach Redis: %w", err), rdb.Close())
	}
	return rdb, nil
}

// warm opens connections, and returns all of them to their pool.
func warm(connections int, open func() (giveBack func(), err error)) error {
	for range connections {
		giveBack, err := open()
		if err != nil {
			return err
		}
		defer giveBack()
	}
	return nil
}

// OpenPostgres connects to the PostgreSQL of a setting, opens all connections, and leaves them in the pool.
func OpenPostgres(ctx context.Context, s Setting) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(s.DatabaseURL)
	if err != nil {
		return nil, errors.New("database URL: must be postgres://USER:PASSWORD@HOST:PORT/DATABASE") // err may quote a password
	}
	config.MaxConns, config.ConnConfig.ConnectTimeout = int32(s.Connections), patience //nolint:gosec // a few
	if s.Meter != nil {
		config.ConnConfig.Tracer = s.Meter
	}
	db, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("reach PostgreSQL: %w", err)
	}
	if err := warm(s.Connections, func() (func(), error) {
		conn, err := db.Acquire(ctx)
		return conn.Release, err
	}); err != nil {
		db.Close()
		return nil, fmt.Errorf("reach PostgreSQL: %w", err)
	}
	return db, nil
}

// Meter counts what clients send: commands to Redis and MongoDB, statements of PostgreSQL, packets to ZooKeeper.
type Meter struct {
	Commands atomic.Int64

	mu    sync.Mutex
	names map[string]bool // of the commands to Redis
}

// count counts a command to Redis.
func (m *Meter) count(command redis.Cmder) {
	m.Commands.Add(1)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.names == nil {
		m.names = make(map[string]bool)
	}
	m.names[command.Name()] = true
}

// Names are those of the commands that were sent to Redis; not those that scripts call there.
func (m *Meter) Names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.names))
}

// DialHook implements [redis.Hook].
func (*Meter) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook].
func (m *Meter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		m.count(command)
		return next(ctx, command)
	}
}

// ProcessPipelineHook implements [redis.Hook].
func (m *Meter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		for _, command := range commands {
			m.count(command)
		}
		return next(ctx, commands)
	}
}

// TraceQueryStart implements [pgx.QueryTracer].
func (m *Meter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	m.Commands.Add(1)
	return ctx
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (*Meter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// packets is a connection to ZooKeeper, whose client writes each packet by itself.
type packets struct {
	net.Conn
	meter *Meter // nil: nothing is counted
}

// Write implements [net.Conn].
func (c packets) Write(p []byte) (int, error) {
	if c.meter != nil {
		c.meter.Commands.Add(1)
	}
	return c.Conn.Write(p)
}
