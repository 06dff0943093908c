package contenders

import (
	"errors"

	"github.com/redis/go-redis/v9"
)

// openRedis makes a client of peers. Commands are not sent again: who does not get an answer says so.
func openRedis(redisURL string) (*redis.Client, error) {
	options, err := redis.ParseURL(redisURL)
	if err != nil {
		return nil, errors.New("redis URL: must be redis://HOST:PORT/DB or rediss://…") // err may quote a password
	}
	options.MaxRetries, options.DialerRetries = -1, 1
	options.ContextTimeoutEnabled = true
	options.PoolSize = redisConnections
	return redis.NewClient(options), nil
}
