package contenders

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"inventory/internal/app"
	"inventory/internal/stock/selling"
)

const (
	// postgresConnections are those of the peers: two or three for each row, so that the next commit is under way
	// while one is synced, and no more than wait for a row in vain.
	postgresConnections = 32
	redisConnections    = 64
)

// market is where all designs sell inside the process: one database of the service's schema, one Redis.
type market struct {
	world       *world
	databaseURL string
	pool        *pgxpool.Pool // of the peers
	redis       *redis.Client // of the peers
	service     *selling.Service
}

// openMarket opens what all designs share.
func openMarket(ctx context.Context, w *world) (m *market, err error) {
	m = &market{world: w}
	if m.databaseURL, err = w.postgres(ctx); err != nil {
		return nil, err
	}
	if m.service, err = m.start(ctx, app.Config{DatabaseURL: m.databaseURL, RedisURL: w.servers.RedisURL}); err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(m.databaseURL)
	if err != nil {
		return nil, fmt.Errorf("read the PostgreSQL URL: %w", err) // pgx keeps the password out of it
	}
	config.MaxConns = postgresConnections
	if m.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("open a pool: %w", err)
	}
	w.onClose(func(context.Context) error { m.pool.Close(); return nil })
	if m.redis, err = openRedis(w.servers.RedisURL); err != nil {
		return nil, err
	}
	w.onClose(func(context.Context) error { return m.redis.Close() })
	return m, nil
}

// start starts the service as the product does, with its metrics.
func (m *market) start(ctx context.Context, config app.Config) (*selling.Service, error) {
	service, err := app.Start(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("start the service: %w", err)
	}
	m.world.onClose(service.Close)
	return service.Service(), nil
}

// create puts a SKU of some segments up for sale. Peers sell the rows of the service, so one audit is for all.
func (m *market) create(segments int) func(ctx context.Context, sku string) error {
	return func(ctx context.Context, sku string) error {
		_, _, err := m.service.CreateSKU(ctx, hot(sku, segments))
		return err
	}
}
