//go:build unix

package servers

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"inventory/internal/servertest"
)

// Started has the PostgreSQL that was started, for a run that does things to it; nil: none was.
type Started struct{ Postgres *servertest.Postgres }

// launches are servers that start side by side.
type launches struct {
	*errgroup.Group
	mu sync.Mutex
	on *Servers
}

// launch starts a server that Close stops, and notes it.
func launch[S interface{ Stop() error }](l *launches, start func() (S, error), note func(S)) {
	l.Go(func() error {
		server, err := start()
		if err == nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.on.OnClose(server.Stop)
			note(server)
		}
		return err
	})
}

// start starts the missing servers.
func (s *Servers) start(ctx context.Context) error {
	starting, ctx := errgroup.WithContext(ctx)
	l := &launches{Group: starting, on: s}
	if s.DatabaseURL == "" {
		launch(l, func() (*servertest.Postgres, error) { return servertest.StartPostgres(ctx, servertest.Durable()) },
			func(p *servertest.Postgres) { s.DatabaseURL, s.PostmasterPID, s.Postgres = p.URL(), p.PID(), p })
	}
	if s.RedisURL == "" {
		launch(l, func() (*servertest.Redis, error) { return servertest.StartRedis(ctx) },
			func(r *servertest.Redis) { s.RedisURL, s.RedisPID = r.URL(), r.PID() })
	}
	return starting.Wait()
}
