package server

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A cluster is what the client of a cluster can do, and any client that embeds one.
type cluster interface {
	Options() *redis.ClusterOptions
	ReloadState(ctx context.Context)
	MasterForKey(ctx context.Context, key string) (*redis.Client, error)
	ForEachMaster(ctx context.Context, do func(ctx context.Context, master *redis.Client) error) error
}

// A ring is what a Ring can do, and any client that embeds one.
type ring interface {
	ForEachShard(ctx context.Context, do func(ctx context.Context, shard *redis.Client) error) error
}

// NoticeError has a cluster client look again which node has which slots if a node cannot be reached. By itself the
// client does so after MOVED, which a node that is gone does not say, and otherwise every minute.
func (s *Server) NoticeError(err error) {
	if cluster, ok := s.Client.(cluster); ok && !IsAnswer(err) {
		cluster.ReloadState(context.Background()) // in the background, and no more than five times a second
	}
}

// IsMoving tells whether a node has refused a script because its slot is moving to another node, or has moved. While a
// slot moves, both nodes refuse a script with several keys if one of the keys does not exist. Then nothing has been
// done. A client of one server cannot follow, and need not wait.
func (s *Server) IsMoving(err error) bool {
	if _, one := s.Client.(*redis.Client); one || err == nil {
		return false
	}
	_, moved := redis.IsMovedError(err)
	_, ask := redis.IsAskError(err)
	return moved || ask || redis.IsTryAgainError(err)
}

// Rest waits, as long as a slot may need to move on or a lost connection to work again. It returns false when there is no
// time for that.
func Rest(ctx context.Context, pause time.Duration) bool {
	if until, ok := ctx.Deadline(); ok && time.Until(until) < pause {
		return false
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// EachBatch does work about items in batches of one round trip each: first those of a node, until do tells that the node
// has not answered, so that it costs one time-out and not many. All nodes of a cluster have their turn at the same time:
// one that does not answer must not hold up the others.
func EachBatch[T any](s *Server, items []T, key func(T) string, do func(batch []T) (answered bool)) {
	work := func(group []T) {
		for batch := range slices.Chunk(group, Batch) {
			if !do(batch) {
				return
			}
		}
	}
	groups := byNode(s, items, key)
	var running sync.WaitGroup
	for _, group := range groups[1:] {
		running.Go(func() { work(group) })
	}
	work(groups[0])
	running.Wait()
}

// byNode splits items by node. A node that is not known is like a node of its own.
func byNode[T any](s *Server, items []T, key func(T) string) [][]T {
	cluster, ok := s.Client.(cluster)
	if !ok || len(items) < 2 {
		return [][]T{items}
	}
	var nodes []*redis.Client
	var groups [][]T
	for _, item := range items {
		node, err := cluster.MasterForKey(context.Background(), key(item))
		if err != nil {
			node = nil
		}
		i := slices.Index(nodes, node)
		if i < 0 {
			i = len(nodes)
			nodes, groups = append(nodes, node), append(groups, nil)
		}
		groups[i] = append(groups[i], item)
	}
	return groups
}
