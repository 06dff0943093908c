package target

import (
	"context"

	"inventory/loadtest/internal/servers"
)

// startServers starts a PostgreSQL and a Redis, and has them stopped by Close.
func (t *Target) startServers(ctx context.Context) (databaseURL, redisURL string, err error) {
	private, err := servers.Open(ctx, servers.URLs{})
	if err != nil {
		return "", "", err
	}
	t.onClose(func(context.Context) error { return private.Stop() })
	t.PostmasterPID = private.PostmasterPID
	return private.DatabaseURL, private.RedisURL, nil
}
