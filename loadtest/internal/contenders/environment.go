package contenders

import (
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"inventory/loadtest/internal/servers"
)

// Environment is what the figures depend on beside the contenders.
type Environment struct {
	servers.Environment
	Generator     string  `json:"generator"` // of requests over HTTP
	Rounds        int     `json:"rounds"`
	WindowSeconds float64 `json:"window_seconds"` // of a round; wrk takes whole seconds
}

// String is the environment in a line.
func (e Environment) String() string {
	return fmt.Sprintf("Rounds: %d of %.3g s. %v; over HTTP sends %s.", e.Rounds, e.WindowSeconds, e.Environment, e.Generator)
}

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
