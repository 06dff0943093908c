//go:build unix

package servers

import (
	"context"

	"golang.org/x/sync/errgroup"

	"inventory/internal/servertest"
)

// start starts what is missing, side by side.
func (s *Servers) start(ctx context.Context) error {
	var postgres *servertest.Postgres
	var redis *servertest.Redis
	starting, ctx := errgroup.WithContext(ctx)
	if s.DatabaseURL == "" {
		starting.Go(func() (err error) {
			postgres, err = servertest.StartPostgres(ctx, servertest.Durable())
			return err
		})
	}
	if s.RedisURL == "" {
		starting.Go(func() (err error) {
			redis, err = servertest.StartRedis(ctx)
			return err
		})
	}
	err := starting.Wait()
	if postgres != nil {
		s.DatabaseURL, s.PostmasterPID, s.stops = postgres.URL(), postgres.PID(), append(s.stops, postgres.Stop)
	}
	if redis != nil {
		s.RedisURL, s.stops = redis.URL(), append(s.stops, redis.Stop)
	}
	return err
}
