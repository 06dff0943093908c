package server

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A cluster is a client of a cluster, or any client that embeds one.
type cluster interface {
	Options() *redis.ClusterOptions
	ReloadState(ctx context.Context)
	MasterForKey(ctx context.Context, key string) (*redis.Client, error)
	ForEachMaster(ctx context.Context, do func(ctx context.Context, master *redis.Client) error) error
}

// NoticeError makes a cluster client reload which node has which slots if a node cannot be reached. By itself the client does
// that only after MOVED, which a dead node does not send, and every minute.
func (s *Server) NoticeError(err error) {
	if cluster, ok := s.Client.(cluster); ok && !IsAnswer(err) {
		cluster.ReloadState(context.Background()) // in the background, and no more than five times a second
	}
}

// IsMoving reports whether a node has refused a script because its slot is moving to another node, or has moved. While a slot
// moves, both nodes refuse a script with several keys if one of the keys does not exist. The refused script has changed
// nothing. A client of one server cannot follow the slot, so it does not wait.
func (s *Server) IsMoving(err error) bool {
	if _, one := s.Client.(*redis.Client); one || err == nil {
		return false
	}
	_, moved := redis.IsMovedError(err)
	_, ask := redis.IsAskError(err)
	return moved || ask || redis.IsTryAgainError(err)
}

// Rest waits for a slot to move on or a lost connection to work again. It returns false when there is no time for that.
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

// EachBatch calls do with items in batches of one round trip each, node by node. If do reports that a node has not answered,
// the node's other batches are skipped, so that it costs one time-out and not many. All nodes of a cluster have their turn
// at the same time: one that does not answer must not hold up the others.
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
	groups := make(map[*redis.Client][]T)
	for _, item := range items {
		node, err := cluster.MasterForKey(context.Background(), key(item))
		if err != nil {
			node = nil
		}
		groups[node] = append(groups[node], item)
	}
	return slices.Collect(maps.Values(groups))
}
