package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// Run runs a call for no longer than ctx and until allow, and returns its answer or scripts.ErrNoAnswer. The attempt is
// among the call's arguments.
//
// A client that keeps deadlines runs it in the caller's goroutine, which saves a fifth of a lone cycle. If ctx can be cancelled it does
// so for a moment only, because a mere cancellation interrupts no read; and only if the last answer was prompt. Then the attempt is
// sent once more.
//
// Call it only from work that Close waits for.
func (s *Server) Run(ctx context.Context, until time.Time, quit <-chan struct{}, call scripts.Call, attempt *scripts.Attempt) (answer any, err error) {
	start := time.Now()
	moment := start.Add(policy.Grace)
	switch {
	case s.inPlace && ctx.Done() == nil:
		answer, err = s.evalHere(ctx, until, call, attempt)
	case s.prompt.Load() && attempt.Number > 0 && !call.Patient && call.Replicated*s.replicas.count == 0 && moment.Before(until):
		if answer, err = s.evalHere(ctx, moment, call, attempt); !errors.Is(err, scripts.ErrNoAnswer) || ctx.Err() != nil {
			break
		}
		s.prompt.Store(false) // for others, at once
		fallthrough
	default:
		answer, err = Bounded(ctx, s, until, quit, func(ctx context.Context) (any, error) { return s.eval(ctx, call, attempt) })
	}
	s.prompt.Store(s.inPlace && IsAnswer(err) && time.Since(start) < policy.Prompt)
	select {
	case <-quit:
	default:
		if !IsAnswer(err) && attempt.Sent() && ctx.Err() == nil {
			s.doubt()
		}
	}
	return answer, err
}

// evalHere is eval in the caller's goroutine, until an instant.
func (s *Server) evalHere(ctx context.Context, until time.Time, call scripts.Call, attempt *scripts.Attempt) (any, error) {
	bounded, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	answer, err := s.eval(bounded, call, attempt)
	return answer, noAnswer(bounded, err)
}

// eval runs a script by its hash, or by its text if the server does not have it or bars EVALSHA.
func (s *Server) eval(ctx context.Context, call scripts.Call, attempt *scripts.Attempt) (any, error) {
	start := time.Now()
	for {
		barred := s.textOnly.Load()
		command := call.Command
		if barred {
			command = call.InFull()
		}
		answer, err := s.evalOnce(ctx, call, command, attempt)
		if !barred && s.wantsText(err) {
			attempt.NotDone()
			answer, err = s.evalOnce(ctx, call, call.InFull(), attempt)
		}
		s.NoticeError(err)
		if !call.Patient || !s.IsMoving(err) || !Rest(ctx, policy.WhileMoving(time.Since(start))) {
			return answer, err
		}
	}
}

// wantsText reports whether a call by hash is refused while one by text may work: the script is not known, or EVALSHA is barred,
// by rename-command or by the rights of the user. It notes that EVALSHA is barred.
func (s *Server) wantsText(err error) bool {
	if err == nil {
		return false
	}
	why := strings.ToLower(err.Error())
	if strings.Contains(why, "evalsha") && (strings.Contains(why, "unknown command") || strings.HasPrefix(why, "noperm")) {
		s.textOnly.Store(true)
		return true
	}
	return strings.HasPrefix(err.Error(), "NOSCRIPT")
}

func (s *Server) evalOnce(ctx context.Context, call scripts.Call, command []any, attempt *scripts.Attempt) (any, error) {
	if call.Replicated > 0 && s.replicas.count > 0 {
		return s.evalReplicated(ctx, attempt, call, command)
	}
	return s.Client.Do(ctx, command...).Result()
}

// Batch is how many calls go in one pipelined round trip: more would block the server for too long.
const Batch = 250

// pipeline runs many calls in one round trip. The first call of each script brings its text, so a server that does not know
// it needs no second trip: a renewal may have no time for one. If a script is unknown all the same, as on several nodes while a
// slot moves, all calls are repeated once, in full: a repetition does no harm. Each call has its own error.
func (s *Server) pipeline(ctx context.Context, rdb redis.UniversalClient, calls []scripts.Call, sent *atomic.Bool) []*redis.Cmd {
	answers := make([]*redis.Cmd, len(calls))
	if _, one := rdb.(*redis.Client); !one && len(calls) == 1 { // over a connection that a lock has been taken over
		answers[0] = rdb.Do(ctx, inFull(calls[0], sent)...)
		s.NoticeError(answers[0].Err())
		return answers
	}
	pipe := rdb.Pipeline()
	if one, ok := rdb.(*redis.Client); ok {
		// The client has other connections for pipelines, which it would have to make first: to connect to a server far away
		// costs more trips than a renewal has time for.
		conn := one.Conn()
		defer func() { _ = conn.Close() }() // it goes back to the pool
		pipe = conn.Pipeline()
	}
	for full := false; ; full = true { // over the same connection: there may be no other
		var brought []*scripts.Script
		for i, c := range calls {
			command := c.Command
			if full || s.textOnly.Load() || !slices.Contains(brought, c.Script) {
				command = inFull(c, sent)
				brought = append(brought, c.Script)
			}
			answers[i] = pipe.Do(ctx, command...)
		}
		_, _ = pipe.Exec(ctx) // every command has its own error
		unknown := false
		for _, answer := range answers {
			unknown = s.wantsText(answer.Err()) || unknown
			s.NoticeError(answer.Err())
		}
		if full || !unknown {
			return answers
		}
	}
}

// inFull returns the command of a call with the text of the script, which notes that it is sent.
func inFull(c scripts.Call, sent *atomic.Bool) []any {
	command := c.InFull()
	command[1] = noted{command[1], sent}
	return command
}

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
// On a cluster this code chooses the node that has the key by itself. When the slot has moved, it has the client look where.
func (s *Server) evalReplicated(ctx context.Context, attempt *scripts.Attempt, call scripts.Call, command []any) (answer any, err error) {
	cluster, ok := s.Client.(*redis.ClusterClient)
	if !ok {
		return s.evalAndWait(ctx, attempt, s.Client.(*redis.Client), call.Replicated, command)
	}
	node, err := cluster.MasterForKey(ctx, call.Key())
	if err != nil {
		return nil, err
	}
	answer, err = s.evalAndWait(ctx, attempt, node, call.Replicated, command)
	if _, moved := redis.IsMovedError(err); moved {
		attempt.NotDone()
		cluster.ReloadState(ctx)
	}
	return answer, err
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
