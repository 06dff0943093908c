package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// ErrNotReplicated means that too few replicas have confirmed an acquisition in time.
var ErrNotReplicated = errors.New("locking: not confirmed by enough replicas")

// replicas is how many replicas must confirm an acquisition, and in what time; 0 for none.
type replicas struct {
	count   int
	timeout time.Duration
}

// WaitReplicas makes calls that must be replicated wait for that many replicas. Its error says why that is not possible.
func (s *Server) WaitReplicas(count int, timeout time.Duration) error {
	var patience time.Duration
	switch rdb := s.Client.(type) {
	case *redis.Client:
		patience = rdb.Options().ReadTimeout
	case *redis.ClusterClient:
		patience = rdb.Options().ReadTimeout
	default:
		return fmt.Errorf("WaitReplicas with a %T, which does not keep to one connection", rdb)
	}
	if count < 1 || timeout < time.Millisecond || patience > 0 && timeout >= patience {
		return fmt.Errorf("waiting %s for %d replicas with a ReadTimeout of %s", timeout, count, patience)
	}
	s.replicas = replicas{count, timeout}
	return nil
}

// evalReplicated runs a script that may grant something new: it returns ErrNotReplicated unless enough replicas have
// confirmed the grant. Then the outcome is as uncertain as after any other error.
//
// On a cluster the script goes to the node that has the key. So on a cluster this code chooses the node itself, and has to
// find the right one when the slot has moved.
func (s *Server) evalReplicated(ctx context.Context, attempt *scripts.Attempt, call scripts.Call, command []any) (answer any, err error) {
	cluster, ok := s.Client.(*redis.ClusterClient)
	if !ok {
		return s.evalAndWait(ctx, attempt, s.Client.(*redis.Client), call.Replicated, command)
	}
	for {
		node, err := cluster.MasterForKey(ctx, call.Key())
		if err != nil {
			return nil, err
		}
		answer, err = s.evalAndWait(ctx, attempt, node, call.Replicated, command)
		if _, moved := redis.IsMovedError(err); !moved || !Rest(ctx, policy.Migration) {
			return answer, err
		}
		attempt.NotDone()
		cluster.ReloadState(ctx)
	}
}

// evalAndWait sends WAIT after a grant only, because WAIT takes its whole time where replicas are missing. It goes over the
// connection of the script: WAIT counts who has what its own connection has written.
func (s *Server) evalAndWait(ctx context.Context, attempt *scripts.Attempt, node *redis.Client, least int, command []any) (any, error) {
	conn := node.Conn()
	defer func() { _ = conn.Close() }() // it goes back to the pool
	answer, err := conn.Do(ctx, command...).Result()
	if err != nil || scripts.Granted(answer) < least {
		return answer, err
	}
	if attempt.Resent() { // the first copy was sent over another connection
		return answer, fmt.Errorf("%w: the attempt was sent twice", ErrNotReplicated)
	}
	confirmed, err := conn.Do(ctx, "wait", s.replicas.count, s.replicas.timeout.Milliseconds()).Int64()
	if err != nil {
		return nil, errors.Join(ErrNotReplicated, err)
	}
	if confirmed < int64(s.replicas.count) {
		return answer, fmt.Errorf("%w: %d of %d", ErrNotReplicated, confirmed, s.replicas.count)
	}
	return answer, nil
}
