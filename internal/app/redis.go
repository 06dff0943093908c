package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisServer is the Redis that keeps the locks: a client, and for the embedded one the server too.
type redisServer struct {
	client   *redis.Client
	embedded *embeddedRedis // nil: it runs elsewhere
}

const (
	redisTimeout = 3 * time.Second        // to find out whether it is there
	redisAnswer  = 250 * time.Millisecond // for one answer of a server that is
)

// openRedis connects to Redis, or starts one inside the process.
func openRedis(ctx context.Context, redisURL string) (*redisServer, error) {
	r := &redisServer{}
	options := &redis.Options{}
	var err error
	if redisURL == Embedded {
		if r.embedded, err = startEmbeddedRedis(); err != nil {
			return nil, err
		}
		options.Addr = r.embedded.server.Addr()
	} else if options, err = redis.ParseURL(redisURL); err != nil {
		return nil, errors.New("redis URL: must be redis://HOST:PORT/DB, rediss://… or embedded") // err may quote a password
	}
	// A lock script is sent once: the lock library itself decides what an unanswered one means. A Redis that does
	// not answer must not hold up a lane, which goes on without it.
	options.MaxRetries, options.DialerRetries = -1, 1
	options.ContextTimeoutEnabled = true
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = time.Second, redisAnswer, redisAnswer
	r.client = redis.NewClient(options)
	if err := r.ping(ctx); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *redisServer) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	if err := r.client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("reach Redis: %w", err)
	}
	return nil
}

func (r *redisServer) close() error {
	err := r.client.Close()
	if r.embedded != nil {
		r.embedded.close()
	}
	return err
}
