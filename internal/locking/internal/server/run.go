package server

import (
	"context"
	"time"

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
