//go:build unix

package lockbench

import (
	"context"

	"inventory/internal/servertest"
)

// start starts the servers that are missing. Locks of PostgreSQL are not written to the disk, so it need not be
// durable.
func (s *Servers) start(ctx context.Context) error {
	if s.RedisURL == "" {
		redis, err := servertest.StartRedis(ctx)
		if err != nil {
			return err
		}
		s.stops, s.RedisURL = append(s.stops, redis.Stop), redis.URL()
	}
	if s.DatabaseURL == "" {
		postgres, err := servertest.StartPostgres(ctx)
		if err != nil {
			return err
		}
		s.stops, s.DatabaseURL = append(s.stops, postgres.Stop), postgres.URL()
	}
	return nil
}
