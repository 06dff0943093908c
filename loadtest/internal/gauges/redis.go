package gauges

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	"inventory/loadtest/internal/servers"

	"github.com/redis/go-redis/v9"
)

// redisServer is a Redis outside the service.
type redisServer struct {
	url    string
	client *redis.Client
	asked  float64 // INFO commands that were answered: they are not the service's
}

func (s *redisServer) read(ctx context.Context) (Reading, error) {
	if err := s.open(); err != nil {
		return Reading{}, err
	}
	sections, err := s.client.InfoMap(ctx, "all").Result()
	if err != nil {
		return Reading{}, fmt.Errorf("reach Redis: %w", err)
	}
	info := info{}
	for _, section := range sections {
		maps.Copy(info, section)
	}
	used := 0.0
	for _, part := range []string{"used_cpu_user", "used_cpu_sys", "used_cpu_user_children", "used_cpu_sys_children"} {
		used += info.number(part)
	}
	reading := Reading{values: map[Quantity]float64{
		redisCommands: info.number("total_commands_processed") - s.asked, redisClients: info.number("connected_clients") - 1,
		redisMemory: info.number("used_memory"), cpu(Redis): used,
	}}
	s.asked++
	return reading, nil
}

// open makes a client of one connection, which sends nothing of its own accord once it stands.
func (s *redisServer) open() error {
	if s.client != nil {
		return nil
	}
	options, err := servers.RedisOptions(s.url)
	if err != nil {
		return err
	}
	options.PoolSize, options.Protocol, options.DisableIdentity = 1, 2, true
	options.MaxRetries, options.DialerRetries, options.ContextTimeoutEnabled = -1, 1, true
	options.DialTimeout, options.ReadTimeout = readTimeout, readTimeout
	s.client = redis.NewClient(options)
	return nil
}

func (s *redisServer) close(context.Context) error {
	if s.client == nil {
		return nil
	}
	return s.client.Close()
}

// info is the answer of INFO, of all sections together.
type info map[string]string

// number is 0 where there is none: an old server does not know all of them.
func (i info) number(name string) float64 {
	value, err := strconv.ParseFloat(i[name], 64)
	if err != nil {
		return 0
	}
	return value
}
