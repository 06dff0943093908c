package selling

import (
	"context"
	"time"

	"inventory/internal/stock"
)

// DefaultAnswerWithin is how long after a request was read something may be written for it, where the configuration does
// not say.
const DefaultAnswerWithin = 2 * time.Second

// deadlineOf is the instant after which nothing may be written for a request: that of its context, at most as long from now
// as the configuration says. A caller who got no answer by then knows that what has not happened will not happen any more.
func (s *Service) deadlineOf(ctx context.Context) time.Time {
	latest := time.Now().Add(s.answerWithin)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(latest) {
		return deadline
	}
	return latest
}

// uninterrupted is the context of a write for a caller who may leave meanwhile: its commit is not cancelled in flight. It
// ends with the caller's deadline.
func (s *Service) uninterrupted(ctx context.Context) (writing context.Context, done context.CancelFunc, err error) {
	return s.uninterruptedUntil(ctx, s.deadlineOf(ctx))
}

// uninterruptedUntil does so with a deadline that began before. It asks the caller's own context, which may know before net/http
// that the caller has hung up; one that is made of it does not.
func (s *Service) uninterruptedUntil(ctx context.Context, deadline time.Time) (writing context.Context, done context.CancelFunc, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, stock.Unavailable(err, "wait to be written")
	}
	writing, done = context.WithDeadline(context.WithoutCancel(ctx), deadline)
	return writing, done, nil
}
