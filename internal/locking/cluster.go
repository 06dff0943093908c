package locking

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// migrationPause is how long we leave a slot alone that is moving from one node to another.
const migrationPause = 10 * time.Millisecond

// countsListeners tells whether PUBLISH answers with everybody who listens. On a cluster it counts the
// listeners of one node, and any client but that of a single server may spread what it does over several.
func countsListeners(rdb redis.UniversalClient) bool {
	_, one := rdb.(*redis.Client)
	return one
}

// variant returns the script for this kind of server, and makes the call run it.
func (l *Locks) variant(s *script, call scriptCall) *script {
	if l.counts {
		return s
	}
	call[1] = s.uncounted.hash
	return s.uncounted
}

// noticeError has a cluster client look again which node has which slots when a node cannot be reached. By
// itself it does so when it is told MOVED, which a node that is gone does not say, and else every minute.
func (l *Locks) noticeError(err error) {
	if err == nil {
		return
	}
	answer := redis.Error(nil)
	if cluster, ok := l.rdb.(*redis.ClusterClient); ok && !errors.As(err, &answer) {
		cluster.ReloadState(context.Background()) // in the background, and no more than five times a second
	}
}

// isMoving tells whether a node has refused a script because its slot is moving to another node, or has moved.
// While it does, a script with several keys is refused by both if one of the keys does not exist. Nothing has
// been done then.
func isMoving(err error) bool {
	if err == nil {
		return false
	}
	_, moved := redis.IsMovedError(err)
	_, ask := redis.IsAskError(err)
	return moved || ask || redis.IsTryAgainError(err)
}

// evalPatiently is eval for who cannot come back later: while the slot is moving it tries again.
func (l *Locks) evalPatiently(ctx context.Context, script *script, try *attempt, call scriptCall) (any, error) {
	for {
		answer, err := l.eval(ctx, script, try, call)
		if !isMoving(err) || !rest(ctx) {
			return answer, err
		}
	}
}

// rest waits until a slot may have moved on. It returns false when there is no time for that.
func rest(ctx context.Context) bool {
	if until, ok := ctx.Deadline(); ok && time.Until(until) < migrationPause {
		return false
	}
	timer := time.NewTimer(migrationPause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// byNode splits items by the node of a cluster that their keys live on: what goes to one that does not
// answer must not hold up the others. A node that is not known is like a node of its own.
func byNode[T any](l *Locks, items []T, key func(T) string) [][]T {
	cluster, ok := l.rdb.(*redis.ClusterClient)
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

// together runs what a function does for each group at the same time, and waits.
func together[T any](groups [][]T, do func([]T)) {
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
