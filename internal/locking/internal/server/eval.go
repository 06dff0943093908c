package server

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// Run runs a call for no longer than ctx and until allow, and returns its answer or scripts.ErrNoAnswer. The attempt is
// among the call's arguments.
//
// A client that keeps deadlines runs it in the caller's goroutine, which is faster. It notices a deadline at once, and
// a mere cancellation only when its own time-out for reads has passed.
//
// Call it only from work that Close waits for.
func (s *Server) Run(ctx context.Context, until time.Time, quit <-chan struct{}, call scripts.Call, attempt *scripts.Attempt) (any, error) {
	if !s.inPlace {
		return s.runAside(ctx, until, quit, call, attempt)
	}
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	answer, err := s.eval(ctx, call, attempt)
	return answer, noAnswer(ctx, err)
}

func (s *Server) runAside(ctx context.Context, until time.Time, quit <-chan struct{}, call scripts.Call, attempt *scripts.Attempt) (any, error) {
	return Bounded(ctx, s, until, quit, func(ctx context.Context) (any, error) { return s.eval(ctx, call, attempt) })
}

// eval runs a script by its hash, or by its text if the server does not have it.
func (s *Server) eval(ctx context.Context, call scripts.Call, attempt *scripts.Attempt) (any, error) {
	for {
		answer, err := s.evalOnce(ctx, call, call.Command, attempt)
		if isNoScript(err) {
			attempt.NotDone()
			answer, err = s.evalOnce(ctx, call, call.InFull(), attempt)
		}
		s.NoticeError(err)
		if !call.Patient || !s.IsMoving(err) || !Rest(ctx, policy.Migration) {
			return answer, err
		}
	}
}

func (s *Server) evalOnce(ctx context.Context, call scripts.Call, command []any, attempt *scripts.Attempt) (any, error) {
	if call.Replicated > 0 && s.replicas.count > 0 {
		return s.evalReplicated(ctx, attempt, call, command)
	}
	return s.Client.Do(ctx, command...).Result()
}

// Batch is how many calls go in one pipelined round trip: more would block the server for too long.
const Batch = 250

// RunAll runs many calls in one bounded round trip. Every answer has its own error. It also reports whether the server
// has answered any of them.
func (s *Server) RunAll(ctx context.Context, until time.Time, calls []scripts.Call) (answers []*redis.Cmd, answered bool) {
	answers, err := Bounded(ctx, s, until, nil, func(ctx context.Context) ([]*redis.Cmd, error) {
		return s.pipeline(ctx, calls), nil
	})
	if err != nil {
		none := &redis.Cmd{}
		none.SetErr(err)
		answers = slices.Repeat([]*redis.Cmd{none}, len(calls))
	}
	answered = slices.ContainsFunc(answers, func(answer *redis.Cmd) bool { return IsAnswer(answer.Err()) })
	return answers, answered
}

// pipeline runs many calls in one round trip. If the server does not know a script, all are repeated once with the
// scripts in full: a repetition does no harm. Each call has its own error.
func (s *Server) pipeline(ctx context.Context, calls []scripts.Call) []*redis.Cmd {
	answers, unknown := s.pipelineOnce(ctx, calls, false)
	if unknown {
		answers, _ = s.pipelineOnce(ctx, calls, true)
	}
	return answers
}

// pipelineOnce is pipeline without a second try. In full, every call brings its script: each may go to another node.
func (s *Server) pipelineOnce(ctx context.Context, calls []scripts.Call, full bool) (answers []*redis.Cmd, unknown bool) {
	answers = make([]*redis.Cmd, len(calls))
	pipe := s.Client.Pipeline()
	for i, c := range calls {
		command := c.Command
		if full {
			command = c.InFull()
		}
		answers[i] = pipe.Do(ctx, command...)
	}
	_, _ = pipe.Exec(ctx) // every command has its own error
	for _, answer := range answers {
		unknown = unknown || isNoScript(answer.Err())
		s.NoticeError(answer.Err())
	}
	return answers, unknown
}
