package server

import (
	"context"
	"slices"
	"strings"
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
	return moved || ask || redis.IsTryAgainError(err) || IsBroken(err)
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

// Subscribe returns a subscription without a channel yet. In a cluster any node passes on what all publish: each attempt goes to another
// one, for the last may be silent.
func (s *Server) Subscribe(ctx context.Context, attempt int) *redis.PubSub {
	var masters []*redis.Client
	if cluster, ok := s.Client.(cluster); ok {
		var mu sync.Mutex
		_ = cluster.ForEachMaster(ctx, func(_ context.Context, master *redis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			masters = append(masters, master)
			return nil
		})
	}
	if len(masters) == 0 {
		return s.Client.Subscribe(ctx)
	}
	slices.SortFunc(masters, func(a, b *redis.Client) int { return strings.Compare(a.Options().Addr, b.Options().Addr) })
	return masters[attempt%len(masters)].Subscribe(ctx)
}

// shards is a client that spreads keys over servers by itself.
type shards interface {
	GetShardClientForKey(key string) (*redis.Client, error)
}

// single is a client of one server.
type single interface {
	Options() *redis.Options
	PoolStats() *redis.PoolStats
}

// NodeOf returns the node that has a key.
func (s *Server) NodeOf(key string) Node {
	var node single
	var err error
	switch rdb := s.Client.(type) {
	case cluster:
		node, err = rdb.MasterForKey(context.Background(), key)
	case shards:
		node, err = rdb.GetShardClientForKey(key)
	case *redis.Client:
		node = rdb
	case single: // perhaps a value that cannot be compared
		node = s.only
	}
	if err != nil || node == nil {
		return Node{}
	}
	return Node{node}
}

// ByNode splits items by node, each of which has a key. Items whose node the client does not show have a node of their own.
func ByNode[T any](s *Server, items []T, key func(T) string) map[Node][]T {
	groups := make(map[Node][]T)
	for _, item := range items {
		node := s.NodeOf(key(item))
		groups[node] = append(groups[node], item)
	}
	return groups
}
