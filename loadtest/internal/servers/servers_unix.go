//go:build unix

package servers

import (
	"context"
	"errors"
	"fmt"
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

// launch starts a server that Close stops, and notes it. A program that is not installed is no error.
func launch[S interface{ Stop() error }](l *launches, start func() (S, error), note func(S)) {
	l.Go(func() error {
		server, err := start()
		if errors.Is(err, servertest.ErrNoZooKeeper) || errors.Is(err, servertest.ErrNoMongoDB) {
			return nil
		}
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

// nodes is the least number of Redis servers of which most are left when one fails.
const nodes = 3

// addForLocks starts the servers that only some locks need: three independent Redis servers, and ZooKeeper and MongoDB where
// they are installed, unless there is a URL. It returns a line for each that is left out.
func (s *Servers) addForLocks(ctx context.Context, n Needs) (leftOut []string, err error) {
	starting, ctx := errgroup.WithContext(ctx)
	l := &launches{Group: starting, on: s}
	if n.Others {
		launch(l, func() (*servertest.Program, error) { return servertest.StartZooKeeper(ctx) },
			func(z *servertest.Program) { s.ZooKeeper = z.Addr() })
	}
	if n.Others && s.MongoDBURL == "" {
		launch(l, func() (*servertest.Program, error) { return servertest.StartMongoDB(ctx) },
			func(m *servertest.Program) { s.MongoDBURL = "mongodb://" + m.Addr() + "/" })
	}
	for range nodes {
		if n.Nodes {
			launch(l, func() (*servertest.Redis, error) { return servertest.StartRedis(ctx) },
				func(r *servertest.Redis) { s.NodeURLs = append(s.NodeURLs, r.URL()) })
		}
	}
	if err := starting.Wait(); err != nil {
		return nil, fmt.Errorf("start private servers for locks: %w", err)
	}
	if n.Others && s.ZooKeeper == "" {
		leftOut = append(leftOut, "the lock on ZooKeeper is left out: "+servertest.ErrNoZooKeeper.Error())
	}
	if n.Others && s.MongoDBURL == "" {
		leftOut = append(leftOut, "the lock on MongoDB is left out: "+servertest.ErrNoMongoDB.Error()+", and there is no --mongodb-url")
	}
	return leftOut, nil
}
