package selling

import (
	"context"
	"time"

	"inventory/internal/stock"
)

// DefaultAnswerWithin is how long after a request was read something may be written for it, where the configuration does
// not say.
const DefaultAnswerWithin = 2 * time.Second

// leastTime is what a write has to have left until the deadline of its request: with less, its answer would hardly be
// waited for, and its neighbours would have to be written once more.
const leastTime = 25 * time.Millisecond

// deadlineOf is the instant after which nothing may be written for a request: that of its context, and at most so long from
// now as the configuration says. Whoever got no answer by then knows that what has not happened will not happen any more.
func (s *Service) deadlineOf(ctx context.Context) time.Time {
	latest := time.Now().Add(s.answerWithin)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(latest) {
		return deadline
	}
	return latest
}

// uninterrupted is the context of a write for a caller who is there, and may leave: its commit is not cancelled in flight. It
// ends with the caller's deadline.
func (s *Service) uninterrupted(ctx context.Context) (writing context.Context, done context.CancelFunc, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, stock.Unavailable(err, "wait to be written")
	}
	writing, done = context.WithDeadline(context.WithoutCancel(ctx), s.deadlineOf(ctx))
	return writing, done, nil
}

// present returns the requests that somebody waits for still, and long enough for a write, which begins now. It answers the
// others. It looks right before the write: who has stood in a queue, or waited for a lock, may have been given up meanwhile.
func stillWaiting(requests []*request) []*request {
	soon := time.Now().Add(leastTime)
	var kept []*request
	for i, r := range requests {
		left := r.ctx.Err() != nil || r.deadline.Before(soon)
		r.sent = r.sent || !left
		switch {
		case left && kept == nil:
			kept = append(make([]*request, 0, len(requests)), requests[:i]...)
			r.giveUp()
		case left:
			r.giveUp()
		case kept != nil:
			kept = append(kept, r)
		}
	}
	if kept == nil {
		return requests
	}
	return kept
}

// giveUp answers a request that nobody waits for any more.
func (r *request) giveUp() {
	switch err := r.ctx.Err(); {
	case err != nil:
		r.abandon(stock.Unavailable(err, "wait to be written"))
	case r.sent:
		r.abandon(stock.Unavailable(stock.ErrLate, "write"))
	default:
		r.abandon(overloaded())
	}
}

// earliest is the first deadline of some requests, by which all of them have to be written.
func firstDeadline(requests []*request) time.Time {
	first := requests[0].deadline
	for _, r := range requests {
		if r.deadline.Before(first) {
			first = r.deadline
		}
	}
	return first
}

// latest is the last deadline of some requests, after which nobody waits for any of them.
func lastDeadline(requests []*request) time.Time {
	last := requests[0].deadline
	for _, r := range requests {
		if r.deadline.After(last) {
			last = r.deadline
		}
	}
	return last
}
