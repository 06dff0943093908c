package app

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisServer is a Redis with locks: a client, and for an embedded one the server too.
type redisServer struct {
	address  redisAddress
	client   redis.UniversalClient
	embedded *EmbeddedRedis // nil: it runs elsewhere
}

// redisServers are one server, or those of a RedLock, of which most must answer.
type redisServers []*redisServer

const (
	redisTimeout = 3 * time.Second        // for the check that it answers at all
	redisDial    = time.Second            // for a connection, with its handshake of TLS
	redisAnswer  = 250 * time.Millisecond // for one answer
	redisRest    = time.Second            // a connection that was idle for longer is not used again: it may be dead
)

// openRedis connects to the Redis servers of the configuration, or starts them inside the process.
func (a *App) openRedis(ctx context.Context) (redisServers, error) {
	var servers redisServers
	for i, address := range a.redisAt {
		inside := fmt.Sprintf("%s-%d", Embedded, i) // a RedLock distinguishes servers by their addresses
		if address == (redisAddress{}) && a.config.RedisDial != nil {
			address.server = &redis.Options{Addr: inside, Dialer: a.config.RedisDial}
		}
		server, err := connectRedis(address, inside)
		if err != nil {
			return nil, err
		}
		a.onClose(func(context.Context) error { return server.close() })
		if a.traces != nil {
			if err := a.traces.redis(server.client); err != nil {
				return nil, err
			}
		}
		servers = append(servers, server)
	}
	if err := servers.ping(ctx); err != nil {
		return nil, err
	}
	return servers, servers.refuseCluster(ctx)
}

// QuietRedis stops the Redis client from writing to standard error what its callers get as errors anyway. It is for
// programs whose terminal shows people something else.
func QuietRedis() { redis.SetLogger(silence{}) }

type silence struct{}

// Printf prints nothing.
func (silence) Printf(context.Context, string, ...any) {}

// connectRedis makes the client of an address; inside is the name of a server inside the process. The client sends a lock
// script once: the lock library itself decides what a missing answer means. A Redis that does not answer must not hold up
// a worker, which goes on without it.
func connectRedis(address redisAddress, inside string) (*redisServer, error) {
	r := &redisServer{address: address}
	switch {
	case address.cluster != nil:
		o := address.cluster
		o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout = redisDial, redisAnswer, redisAnswer
		o.ConnMaxIdleTime = cmp.Or(o.ConnMaxIdleTime, redisRest)
		r.client = redis.NewClusterClient(o)
	case address.sentinel != nil:
		o := address.sentinel
		o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout = redisDial, redisAnswer, redisAnswer
		o.ConnMaxIdleTime = cmp.Or(o.ConnMaxIdleTime, redisRest)
		r.client = redis.NewFailoverClient(o)
	default:
		o := address.server
		if o == nil {
			var err error
			if r.embedded, err = StartEmbeddedRedis(); err != nil {
				return nil, err
			}
			o = &redis.Options{Addr: inside, Dialer: r.embedded.Dial}
		}
		o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout = redisDial, redisAnswer, redisAnswer
		o.ConnMaxIdleTime = cmp.Or(o.ConnMaxIdleTime, redisRest)
		r.client = redis.NewClient(o)
	}
	return r, nil
}

// ping returns an error unless most of the servers answer, as locks need.
func (s redisServers) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	answers := make(chan error, len(s))
	for _, server := range s {
		go func() { answers <- server.client.Ping(ctx).Err() }()
	}
	var last error
	silent := 0
	for range s {
		select {
		case err := <-answers:
			if err != nil {
				silent, last = silent+1, err
			}
		case <-ctx.Done(): // the client reads on until its own time-out
			silent, last = silent+1, context.Cause(ctx)
		}
	}
	if silent <= (len(s)-1)/2 {
		return nil
	}
	return fmt.Errorf("reach Redis: %d of %d do not answer: %w", silent, len(s), last)
}

// pingMasters returns an error unless every master of a cluster answers: each has the locks of some SKUs.
func (s redisServers) pingMasters(ctx context.Context) error {
	for _, server := range s {
		cluster, ok := server.client.(*redis.ClusterClient)
		if !ok {
			continue
		}
		if err := cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error { return master.Ping(ctx).Err() }); err != nil {
			return fmt.Errorf("reach all masters of the Redis Cluster: %w", err)
		}
	}
	return nil
}

func (r *redisServer) close() error {
	err := r.client.Close()
	if r.embedded != nil {
		r.embedded.Close()
	}
	return err
}
