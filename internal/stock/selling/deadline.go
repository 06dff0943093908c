package selling

import (
	"context"
	"time"

	"inventory/internal/stock"
)

// DefaultAnswerWithin is how long after it was read a request may still be written, if the configuration does not say.
const DefaultAnswerWithin = 2 * time.Second

// deadlineOf is the instant after which nothing may be written for a request: the deadline of its context, but at most the
// configured time from now. If a caller has no answer by then, what has not happened never will.
func (s *Service) deadlineOf(ctx context.Context) time.Time {
	latest := time.Now().Add(s.answerWithin)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(latest) {
		return deadline
	}
	return latest
}

// writeContext returns the context of a write. It ends at the caller's deadline, but not when the caller leaves: a commit is
// not cancelled in flight.
func (s *Service) writeContext(ctx context.Context) (writing context.Context, done context.CancelFunc, err error) {
	return s.writeContextUntil(ctx, s.deadlineOf(ctx))
}

// writeContextUntil does the same with a deadline that was set before. Close waits until done is called; when it has waited long
// enough, the context ends. It calls Err of the caller's own context, which may notice a hang-up before net/http does; a context
// derived from it would not.
func (s *Service) writeContextUntil(ctx context.Context, deadline time.Time) (writing context.Context, done context.CancelFunc, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, stock.Unavailable(stock.Unwritten(err), "wait to be written")
	}
	if !s.begin() {
		return nil, nil, shuttingDown()
	}
	writing, end := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	closed := context.AfterFunc(s.base, end)
	return writing, func() {
		closed()
		end()
		s.workers.running.Done()
	}, nil
}

// overtaken rests before the next try of a write that another one has overtaken, longer each time. There is no bound but the
// context's: nothing was written, and a change of the SKU that comes in between is no reason to refuse an order.
func overtaken(ctx context.Context, tries int) {
	select {
	case <-time.After(time.Duration(min(tries, mostRest)-1) * time.Millisecond):
	case <-ctx.Done():
	}
}

const mostRest = 10 // milliseconds
