package locking

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// replicas says how many of them must confirm an acquisition, and in what time; 0 for none.
type replicas struct {
	count   int
	timeout time.Duration
}

// WaitReplicas makes an acquisition count only when that many replicas have confirmed it within a timeout, so
// that the lock lives on when one of them takes the server's place. If fewer do, it is cancelled and the error
// is ErrNotReplicated. Every acquisition by a script waits for it, also in vain: it costs a round trip from the
// server to its replicas. Re-entries, renewals, releases and what is handed off inside a process do not
// wait: the replicas know already whose lock it is, though perhaps a shorter lease.
//
// It makes a loss rarer and not impossible: nothing forces a failover to choose a replica that has confirmed.
// It needs a client of one server, of Sentinel or of a Cluster, for WAIT tells of its own connection only; and
// the timeout must be shorter than the client's ReadTimeout. On miniredis nothing is ever confirmed.
func WaitReplicas(count int, timeout time.Duration) Option {
	return func(l *Locks) error {
		var patience time.Duration
		switch rdb := l.rdb.(type) {
		case *redis.Client:
			patience = rdb.Options().ReadTimeout
		case *redis.ClusterClient:
			patience = rdb.Options().ReadTimeout
		default:
			return fmt.Errorf("%w: WaitReplicas with a %T, which does not keep to one connection", ErrInvalid, rdb)
		}
		if count < 1 || timeout < time.Millisecond || patience > 0 && timeout >= patience {
			return fmt.Errorf("%w: waiting %s for %d replicas with a ReadTimeout of %s", ErrInvalid, timeout, count, patience)
		}
		l.replicas = replicas{count, timeout}
		return nil
	}
}

// evalReplicated is eval for a script that grants something new: it returns ErrNotReplicated unless enough
// replicas have confirmed the grant. The outcome is as uncertain then as after any other error.
func (l *Locks) evalReplicated(ctx context.Context, script *script, try *attempt, call scriptCall) (any, error) {
	script = l.variant(script, call)
	answer, confirmed, err := l.evalAndWait(ctx, try, call)
	if isNoScript(err) {
		try.sent.CompareAndSwap(1, 0) // as in eval
		answer, confirmed, err = l.evalAndWait(ctx, try, script.inFull(call))
	}
	l.noticeError(err)
	// A copy that was sent over another connection has found its work done, and its WAIT tells nothing.
	if err == nil && grants(answer) && (confirmed < int64(l.replicas.count) || try.sent.Load() > 1) {
		err = fmt.Errorf("%w: %d of %d", ErrNotReplicated, confirmed, l.replicas.count)
	}
	return answer, err
}

// evalAndWait runs a script and WAIT on one connection: on a cluster, of the node that has the first key. There
// we talk to nodes ourselves, so it is on us to find the right one when the slot has moved.
func (l *Locks) evalAndWait(ctx context.Context, try *attempt, call scriptCall) (answer any, confirmed int64, err error) {
	cluster, ok := l.rdb.(*redis.ClusterClient)
	if !ok {
		return l.pipeAndWait(ctx, l.rdb.Pipeline(), call)
	}
	for {
		node, err := cluster.MasterForKey(ctx, call[firstKey].(string))
		if err != nil {
			return nil, 0, err
		}
		answer, confirmed, err = l.pipeAndWait(ctx, node.Pipeline(), call)
		if _, moved := redis.IsMovedError(err); !moved || !rest(ctx) {
			return answer, confirmed, err
		}
		try.sent.CompareAndSwap(1, 0)
		cluster.ReloadState(ctx)
	}
}

func (l *Locks) pipeAndWait(ctx context.Context, pipe redis.Pipeliner, call scriptCall) (answer any, confirmed int64, err error) {
	ran := pipe.Do(ctx, call...)
	waited := pipe.Do(ctx, "wait", l.replicas.count, l.replicas.timeout.Milliseconds())
	_, _ = pipe.Exec(ctx) // each has its own error
	if answer, err = ran.Result(); err != nil {
		return nil, 0, err
	}
	if confirmed, err = waited.Int64(); err != nil && grants(answer) {
		return nil, 0, errors.Join(ErrNotReplicated, err)
	}
	return answer, confirmed, nil
}

// grants tells whether an answer to an acquisition has a token in it: it is one, or the list of code and
// time goes on.
func grants(answer any) bool {
	_, token := answer.(string)
	list, _ := answer.([]any)
	return token || len(list) > 2
}
