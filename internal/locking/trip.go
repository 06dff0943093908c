package locking

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// keepsDeadlines tells whether the client lets the deadline of a context interrupt a read from the server.
// By default go-redis does not, and the client is not ours to change.
func keepsDeadlines(rdb redis.UniversalClient) bool {
	switch rdb := rdb.(type) {
	case *redis.Client:
		return rdb.Options().ContextTimeoutEnabled
	default: // a cluster's rests and goes on to other nodes without a look at the deadline
		return false
	}
}

// told is a context with a deadline that is told and not enforced: no timer, for whoever reads from a socket
// looks at the deadline by itself.
type told struct {
	context.Context
	until time.Time
}

// Deadline returns the earlier one of its own and its parent's.
func (t *told) Deadline() (time.Time, bool) {
	if theirs, ok := t.Context.Deadline(); ok && theirs.Before(t.until) {
		return theirs, true
	}
	return t.until, true
}

// trip runs a script for no longer than ctx allows and until says, and returns its answer or ErrNoAnswer. The
// errand has try among its arguments.
//
// A client that keeps deadlines runs it right here, which is faster. It hears of a deadline at once, and of a
// mere cancellation when its own time-out for reads has passed. But where it must connect first, it hears of
// nothing but the end of a context: so until makes one.
//
// Only call it from work that Close waits for.
func (l *Locks) trip(ctx context.Context, until time.Time, quit <-chan struct{}, e errand, try *attempt) (any, error) {
	if l.inPlace {
		ctx, cancel := context.WithDeadline(ctx, until)
		defer cancel()
		answer, err := e.run(ctx, l, try)
		return answer, noAnswer(ctx, err)
	}
	return bounded(l, ctx, until, quit, func(ctx context.Context) (any, error) {
		return e.run(ctx, l, try)
	})
}

// openTrip is trip for who waits without a bound of its own: until is a matter of the answer's worth alone,
// and costs no timer. To connect may take as long as the client likes, or until ctx ends.
func (l *Locks) openTrip(ctx context.Context, until time.Time, quit <-chan struct{}, e errand, try *attempt) (any, error) {
	if !l.inPlace {
		return l.trip(ctx, until, quit, e, try)
	}
	answer, err := e.run(&told{ctx, until}, l, try)
	return answer, noAnswer(ctx, err)
}

// noAnswer tells a time-out from other errors. Whose end it was, the caller tells.
func noAnswer(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() || ctx.Err() != nil {
		return ErrNoAnswer
	}
	return err
}

// bounded runs a command for no longer than ctx allows and until says, for a client that may not keep
// deadlines. The command has a goroutine of its own, and is left behind when ctx ends or quit is closed. It
// ends by the client's own time-outs then, its answer is dropped, and Close waits for it.
func bounded[T any](l *Locks, ctx context.Context, until time.Time, quit <-chan struct{}, command func(context.Context) (T, error)) (answer T, err error) {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	type outcome struct {
		answer T
		err    error
	}
	home := make(chan outcome, 1)
	l.trips.Go(func() {
		answer, err := command(ctx)
		home <- outcome{answer, err}
	})
	select {
	case came := <-home:
		if came.err != nil && ctx.Err() != nil {
			return answer, ErrNoAnswer
		}
		return came.answer, came.err
	case <-ctx.Done():
	case <-quit:
	}
	select {
	case came := <-home: // both at once: what is answered is answered
		return came.answer, came.err
	default:
		return answer, ErrNoAnswer
	}
}

// releaseBound is how long a release may keep its caller. What has not been confirmed by then is
// repeated in the background.
const releaseBound = 3 * time.Second

// failed wraps what went wrong on a trip.
func failed(verb, name string, err error) error {
	return fmt.Errorf("locking: %s %q: %w", verb, name, err)
}
