package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisServer is a Redis with locks: a client, and for an embedded one the server too.
type redisServer struct {
	client   *redis.Client
	embedded *EmbeddedRedis // nil: it runs elsewhere
}

// redisServers are one server, or those of a RedLock, of which most must answer.
type redisServers []*redisServer

const (
	redisTimeout = 3 * time.Second        // to find out whether it answers at all
	redisAnswer  = 250 * time.Millisecond // for one answer
	redisRest    = time.Second            // a connection that was idle for longer is not used again: it may be dead
	redLockNodes = 3                      // the least number of a RedLock's servers; so many embedded ones
)

var errRedisURL = errors.New("redis URL: must be redis://HOST:PORT/DB, rediss://…, several of these for redlock, or embedded")

// redisOptions reads the Redis URLs of a configuration. Options without an address are for a server inside the process.
func redisOptions(c Config) ([]*redis.Options, error) {
	urls := strings.Split(c.RedisURL, ",")
	switch n := len(urls); {
	case c.RedisURL == Embedded && c.Lock == LockRed:
		return []*redis.Options{{}, {}, {}}, nil
	case c.RedisURL == Embedded:
		return []*redis.Options{{}}, nil
	case c.Lock == LockRed && (n < redLockNodes || n%2 == 0):
		return nil, fmt.Errorf("lock %s: needs an odd number of Redis URLs, %d or more with commas between them, and not %d", c.Lock, redLockNodes, n)
	case c.Lock != LockRed && n > 1:
		return nil, fmt.Errorf("lock %s: needs one Redis URL; several are for lock %s", c.Lock, LockRed)
	}
	var all []*redis.Options
	for _, url := range urls {
		if err := checkURL(url); err != nil {
			return nil, fmt.Errorf("redis URL: %w", err)
		}
		options, err := redis.ParseURL(url)
		if err != nil {
			return nil, errRedisURL // err may quote a password
		}
		if slices.ContainsFunc(all, func(other *redis.Options) bool { return other.Addr == options.Addr }) {
			return nil, fmt.Errorf("redis URL: %s is named twice; the servers of a %s must be different ones", options.Addr, LockRed)
		}
		all = append(all, options)
	}
	return all, nil
}

// openRedis connects to the Redis servers of the configuration, or starts them inside the process.
func (a *App) openRedis(ctx context.Context) (redisServers, error) {
	all, err := redisOptions(a.config)
	if err != nil {
		return nil, err
	}
	var servers redisServers
	for i, options := range all {
		if options.Addr == "" && a.config.RedisDial != nil {
			options.Addr, options.Dialer = fmt.Sprintf("%s-%d", Embedded, i), a.config.RedisDial
		}
		server, err := connectRedis(options)
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

// QuietRedis keeps the Redis client from writing to standard error by itself what its callers get as errors. It is for
// programs in whose terminal somebody reads something else.
func QuietRedis() { redis.SetLogger(silence{}) }

type silence struct{}

// Printf prints nothing.
func (silence) Printf(context.Context, string, ...any) {}

func connectRedis(options *redis.Options) (*redisServer, error) {
	r := &redisServer{}
	if options.Addr == "" {
		var err error
		if r.embedded, err = StartEmbeddedRedis(); err != nil {
			return nil, err
		}
		options.Addr, options.Dialer = Embedded, r.embedded.Dial
	}
	// A lock script is sent once: the lock library itself decides what a missing answer means. A Redis that does not
	// answer must not hold up a worker, which goes on without it.
	options.MaxRetries, options.DialerRetries = -1, 1
	options.ContextTimeoutEnabled = true
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = time.Second, redisAnswer, redisAnswer
	if options.ConnMaxIdleTime == 0 {
		options.ConnMaxIdleTime = redisRest
	}
	r.client = redis.NewClient(options)
	return r, nil
}

// ping tells whether enough servers answer for locks: most of them.
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
		if err := <-answers; err != nil {
			silent, last = silent+1, err
		}
	}
	if silent <= (len(s)-1)/2 {
		return nil
	}
	return fmt.Errorf("reach Redis: %d of %d do not answer: %w", silent, len(s), last)
}

func (r *redisServer) close() error {
	err := r.client.Close()
	if r.embedded != nil {
		r.embedded.Close()
	}
	return err
}
