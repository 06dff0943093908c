//go:build unix

package servers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"inventory/internal/app"
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
		s.DatabaseURL, s.PostmasterPID = postgres.URL(), postgres.PID()
		s.OnClose(postgres.Stop)
	}
	if redis != nil {
		s.RedisURL = redis.URL()
		s.OnClose(redis.Stop)
	}
	return err
}

// StartSentinel starts a Redis with two replicas under Sentinels, and tells where the service finds it.
func StartSentinel(ctx context.Context) (redisURL string, stop func() error, err error) {
	s, err := servertest.StartSentinel(ctx, 2)
	if err != nil {
		return "", nil, err
	}
	return s.URL(), s.Stop, nil
}

// StartCluster starts a Redis Cluster of three masters with a replica each, and tells where the service finds it.
func StartCluster(ctx context.Context) (redisURL string, stop func() error, err error) {
	c, err := servertest.StartCluster(ctx)
	if err != nil {
		return "", nil, err
	}
	return c.URL(), c.Stop, nil
}

// Citus is a coordinator and nodes, which sync their commits.
type Citus struct{ cluster *servertest.Citus }

// StartCitus starts a coordinator and so many nodes.
func StartCitus(ctx context.Context, nodes int) (Citus, error) {
	cluster, err := servertest.StartCitus(ctx, nodes, servertest.Durable())
	return Citus{cluster}, err
}

// CreateDatabase makes a database of the service's schema that is divided into shards. It goes with the servers.
func (c Citus) CreateDatabase(ctx context.Context, shards int) (databaseURL string, err error) {
	plainURL, _, err := c.cluster.CreateDatabase(ctx)
	if err != nil {
		return "", err
	}
	if _, err := app.MigrateUp(ctx, plainURL); err != nil {
		return "", err
	}
	databaseURL = "citus" + strings.TrimPrefix(plainURL, "postgres")
	_, err = app.Distribute(ctx, databaseURL, shards, false)
	return databaseURL, err
}

// Stop ends all of them.
func (c Citus) Stop() error { return c.cluster.Stop() }

// nodes are of which two agree when one fails.
const nodes = 3

// AddForLocks starts, side by side, what only some locks need, and hardly anybody has at hand: three independent Redis servers, and
// ZooKeeper and MongoDB where they are installed, unless a URL was given. It returns a line for what is left out.
func (s *Servers) AddForLocks(ctx context.Context) (leftOut []string, err error) {
	var zookeeper *servertest.ZooKeeper
	var mongoDB *servertest.MongoDB
	all := make([]*servertest.Redis, nodes)
	starting, ctx := errgroup.WithContext(ctx)
	starting.Go(func() (err error) {
		zookeeper, err = servertest.StartZooKeeper(ctx)
		return unless(servertest.ErrNoZooKeeper, err)
	})
	if s.MongoDBURL == "" {
		starting.Go(func() (err error) {
			mongoDB, err = servertest.StartMongoDB(ctx)
			return unless(servertest.ErrNoMongoDB, err)
		})
	}
	for i := range all {
		starting.Go(func() (err error) {
			all[i], err = servertest.StartRedis(ctx)
			return err
		})
	}
	if err = starting.Wait(); err != nil {
		err = fmt.Errorf("start private servers for locks: %w", err)
	}
	if zookeeper != nil {
		s.ZooKeeper = zookeeper.Addr()
		s.OnClose(zookeeper.Stop)
	}
	if mongoDB != nil {
		s.MongoDBURL = mongoDB.URL()
		s.OnClose(mongoDB.Stop)
	}
	for _, redis := range all {
		if redis != nil {
			s.NodeURLs = append(s.NodeURLs, redis.URL())
			s.OnClose(redis.Stop)
		}
	}
	if s.ZooKeeper == "" {
		leftOut = append(leftOut, "the lock on ZooKeeper is left out: "+servertest.ErrNoZooKeeper.Error())
	}
	if s.MongoDBURL == "" {
		leftOut = append(leftOut, "the lock on MongoDB is left out: "+servertest.ErrNoMongoDB.Error()+", and there is no --mongodb-url")
	}
	return leftOut, err
}

// unless is err, but for one that is no reason to stop.
func unless(known, err error) error {
	if errors.Is(err, known) {
		return nil
	}
	return err
}
