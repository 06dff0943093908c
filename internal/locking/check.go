package locking

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// CheckServer asks the server, or each master of a cluster, whether it may throw locks away when its memory is
// full, and returns ErrEviction if so. Locks have expiries, so every policy but noeviction can take them. Nobody
// calls it by itself; a start is a good time. Any other error says that it could not be told: miniredis and
// some services do not show their policy.
func (l *Locks) CheckServer(ctx context.Context) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.calls.Done()
	_, err := bounded(l, ctx, time.Now().Add(releaseBound), l.closing, func(ctx context.Context) (any, error) {
		switch rdb := l.rdb.(type) {
		case *redis.ClusterClient:
			return nil, rdb.ForEachMaster(ctx, checkMemory)
		case *redis.Ring:
			return nil, rdb.ForEachShard(ctx, checkMemory)
		default:
			return nil, memoryError(rdb.Info(ctx, "memory").Result())
		}
	})
	if err != nil {
		return fmt.Errorf("locking: check the server: %w", err)
	}
	return nil
}

func checkMemory(ctx context.Context, rdb *redis.Client) error {
	return memoryError(rdb.Info(ctx, "memory").Result())
}

// memoryError reads what a server says about its memory.
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
