package breaks

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
)

const (
	// patience bounds a connect and an answer.
	patience = 3 * time.Second
	// enough are the connections of who does not care.
	enough = 8
)

// openRedis connects to a Redis, with the same settings for every contender: a script is sent once, and a context's end
// ends a command.
func openRedis(ctx context.Context, redisURL string, s setting) (*redis.Client, error) {
	options, err := redis.ParseURL(redisURL)
	if err != nil {
		return nil, errors.New("redis URL: must be redis://HOST:PORT/DB or rediss://…") // err may quote a password
	}
	options.MaxRetries, options.DialerRetries = -1, 1
	options.ContextTimeoutEnabled, options.DisableIdentity = true, true
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = patience, patience, patience
	options.PoolSize, options.PoolFIFO = s.pool(), true // so that commands go over all connections in turn
	options.Dialer = underTLS(s.cable.dial, options.TLSConfig)
	rdb := redis.NewClient(options)
	if s.trap != nil {
		rdb.AddHook(s.trap)
	}
	if err := warm(ctx, rdb, s.pool()); err != nil {
		return nil, errors.Join(fmt.Errorf("reach Redis: %w", err), rdb.Close())
	}
	return rdb, nil
}

// underTLS dials for rediss, where there is a configuration.
func underTLS(dial dialFunc, config *tls.Config) dialFunc {
	if config == nil {
		return dial
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		secured := tls.Client(conn, config)
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return secured, nil
	}
}

// warm opens connections and leaves them in the pool.
func warm(ctx context.Context, rdb *redis.Client, connections int) error {
	for range connections {
		conn := rdb.Conn()
		defer func() { _ = conn.Close() }() // back into the pool
		if err := conn.Ping(ctx).Err(); err != nil {
			return err
		}
	}
	return nil
}

// pool is how many connections the callers share.
func (s setting) pool() int {
	if s.connections > 0 {
		return s.connections
	}
	return enough
}

// openPostgres connects to PostgreSQL.
func openPostgres(ctx context.Context, s setting, connections int) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(s.DatabaseURL)
	if err != nil {
		return nil, errors.New("database URL: must be postgres://USER:PASSWORD@HOST:PORT/DATABASE") // err may quote a password
	}
	config.MaxConns = int32(connections)
	config.ConnConfig.DialFunc = s.cable.dial
	db, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("reach PostgreSQL: %w", err)
	}
	if err := db.Ping(ctx); err != nil {
		db.Close()
		return nil, fmt.Errorf("reach PostgreSQL: %w", err)
	}
	return db, nil
}
