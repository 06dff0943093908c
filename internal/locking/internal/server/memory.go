package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking/internal/scripts"
)

// ErrRights means that the server refuses commands that locks need.
var ErrRights = errors.New("locking: the server refuses commands that locks need")

// CheckRights asks the server, or a node of a cluster, whether this user may run the commands that locks need.
func (s *Server) CheckRights(ctx context.Context, until time.Time, quit <-chan struct{}, call scripts.Call) error {
	answer, err := s.Run(ctx, until, quit, call, &scripts.Attempt{})
	if err != nil {
		if why := strings.ToLower(err.Error()); strings.HasPrefix(why, "noperm") || strings.Contains(why, "unknown command") {
			return fmt.Errorf("%w: %w", ErrRights, err)
		}
		return err
	}
	refused, ok := answer.([]any)
	if !ok {
		return scripts.Strange(answer)
	}
	if s.replicas.count > 0 {
		_, err := Bounded(ctx, s, until, quit, func(ctx context.Context) (any, error) { return s.Client.Do(ctx, "wait", 0, 1).Result() })
		if IsAnswer(err) && err != nil {
			refused = append(refused, "WAIT")
		}
	}
	if len(refused) > 0 {
		return fmt.Errorf("%w: %v", ErrRights, refused)
	}
	return nil
}

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
