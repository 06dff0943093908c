package app_test

import (
	"context"
	"testing"

	"inventory/internal/servertest"
)

// TestStartWaitsForASlowRedis starts a service on a Redis that answers nothing for three times as long as one command may take.
func TestStartWaitsForASlowRedis(t *testing.T) {
	t.Parallel()
	server := startRedis(t, func(ctx context.Context) (*servertest.Redis, error) { return servertest.StartRedis(ctx) })
	do(t, server, "CLIENT PAUSE 750 ALL")
	onRedis(t, server.URL())
}
