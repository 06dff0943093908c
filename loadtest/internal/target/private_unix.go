//go:build unix

package target

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"inventory/internal/servertest"
)

// startServers starts a durable PostgreSQL and a Redis side by side, and has them stopped by Close.
func (t *Target) startServers(ctx context.Context) (databaseURL, redisURL string, err error) {
	var postgres *servertest.Postgres
	var redis *servertest.Redis
	servers, starting := errgroup.WithContext(ctx)
	servers.Go(func() (err error) {
		postgres, err = servertest.StartPostgres(starting, servertest.Durable())
		return err
	})
	servers.Go(func() (err error) {
		redis, err = servertest.StartRedis(starting)
		return err
	})
	err = servers.Wait()
	if postgres != nil {
		t.onClose(func(context.Context) error { return postgres.Stop() })
	}
	if redis != nil {
		t.onClose(func(context.Context) error { return redis.Stop() })
	}
	if err != nil {
		return "", "", fmt.Errorf("start private servers: %w", err)
	}
	return postgres.URL(), redis.URL(), nil
}
