package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrEviction means that the server may evict locks when its memory is full.
var ErrEviction = errors.New("locking: the server may evict locks")

// CheckMemory asks the server, or each master of a cluster, whether it may evict locks when its memory is full.
func (s *Server) CheckMemory(ctx context.Context, until time.Time, quit <-chan struct{}) error {
	_, err := Bounded(ctx, s, until, quit, func(ctx context.Context) (any, error) {
		check := func(ctx context.Context, rdb *redis.Client) error {
			return memoryError(rdb.Info(ctx, "memory").Result())
		}
		switch rdb := s.Client.(type) {
		case cluster:
			return nil, rdb.ForEachMaster(ctx, check)
		case ring:
			return nil, rdb.ForEachShard(ctx, check)
		default:
			return nil, memoryError(rdb.Info(ctx, "memory").Result())
		}
	})
	return err
}

// memoryError reads a server's report about its memory.
func memoryError(info string, err error) error {
	if err != nil {
		return err
	}
	fields := make(map[string]string)
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[name] = value
	}
	limit, policy := fields["maxmemory"], fields["maxmemory_policy"]
	switch {
	case limit == "" || policy == "":
		return errors.New("it does not show its memory limit and policy")
	case limit != "0" && policy != "noeviction":
		return fmt.Errorf("%w: over %s bytes it frees memory by %s", ErrEviction, limit, policy)
	}
	return nil
}
