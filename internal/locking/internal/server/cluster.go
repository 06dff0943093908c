package server

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking/internal/policy"
)

// NoticeError has a cluster client look again which node has which slots if a node cannot be reached. By itself the
// client does so after MOVED, which a node that is gone does not say, and otherwise every minute.
func (s *Server) NoticeError(err error) {
	if cluster, ok := s.Client.(*redis.ClusterClient); ok && !IsAnswer(err) {
		cluster.ReloadState(context.Background()) // in the background, and no more than five times a second
	}
}

// IsMoving tells whether a node has refused a script because its slot is moving to another node, or has moved. While a
// slot moves, both nodes refuse a script with several keys if one of the keys does not exist. Then nothing has been
// done.
func IsMoving(err error) bool {
	if err == nil {
		return false
	}
	_, moved := redis.IsMovedError(err)
	_, ask := redis.IsAskError(err)
	return moved || ask || redis.IsTryAgainError(err)
}

// rest waits until a slot may have moved on. It returns false when there is no time for that.
func rest(ctx context.Context) bool {
	if until, ok := ctx.Deadline(); ok && time.Until(until) < policy.Migration {
		return false
	}
	timer := time.NewTimer(policy.Migration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// EachNode splits items by the node of a cluster that their keys live on, and does the work for all nodes at the same
// time: a node that does not answer must not hold up the others.
func EachNode[T any](s *Server, items []T, key func(T) string, do func([]T)) {
	groups := byNode(s, items, key)
	if len(groups) == 1 {
		do(groups[0])
		return
	}
	var running sync.WaitGroup
	for _, group := range groups {
		running.Go(func() { do(group) })
	}
	running.Wait()
}

// byNode splits items by node. A node that is not known is like a node of its own.
func byNode[T any](s *Server, items []T, key func(T) string) [][]T {
	cluster, ok := s.Client.(*redis.ClusterClient)
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
