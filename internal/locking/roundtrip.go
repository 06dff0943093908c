package locking

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
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

// limit is a context with a deadline that costs no timer in the ordinary case. Whoever reads from a socket looks
// at Deadline. Whoever waits for a connection waits for Done; but before that everybody asks once whether the
// context has ended, and that first look is answered as the parent answers it. From the second on the deadline
// ends the context for all to hear.
type limit struct {
	context.Context
	until time.Time
	looks atomic.Int32
	once  sync.Once
	ends  atomic.Pointer[ending]
}

// ending is a limit that somebody waits for.
type ending struct {
	context.Context
	cancel context.CancelFunc
}

// Deadline returns the earlier one of its own and its parent's.
func (l *limit) Deadline() (time.Time, bool) {
	if theirs, ok := l.Context.Deadline(); ok && theirs.Before(l.until) {
		return theirs, true
	}
	return l.until, true
}

// Done returns what is closed at the deadline, or with the parent.
func (l *limit) Done() <-chan struct{} {
	if l.looks.Add(1) == 1 {
		return l.Context.Done()
	}
	l.once.Do(func() {
		ctx, cancel := context.WithDeadline(l.Context, l.until)
		l.ends.Store(&ending{ctx, cancel})
	})
	return l.ends.Load().Done()
}

// Err tells whether it has ended.
func (l *limit) Err() error {
	if e := l.ends.Load(); e != nil {
		return e.Err()
	}
	return l.Context.Err()
}

// close gives back what Done has taken.
func (l *limit) close() {
	if e := l.ends.Load(); e != nil {
		e.cancel()
	}
}

// round trip runs a script for no longer than ctx allows and until says, and returns its answer or ErrNoAnswer. The
// script call has try among its arguments.
//
// A client that keeps deadlines runs it right here, which is faster. It hears of a deadline at once, and of a
// mere cancellation when its own time-out for reads has passed.
//
// Only call it from work that Close waits for.
func (l *Locks) roundTrip(ctx context.Context, until time.Time, quit <-chan struct{}, e errand, try *attempt) (any, error) {
	if !l.inPlace {
		return l.roundTripAway(ctx, until, quit, e, try)
	}
	limited := &limit{Context: ctx, until: until}
	defer limited.close()
	answer, err := e.run(limited, l, try)
	return answer, noAnswer(limited, err)
}

func (l *Locks) roundTripAway(ctx context.Context, until time.Time, quit <-chan struct{}, e errand, try *attempt) (any, error) {
	return bounded(l, ctx, until, quit, func(ctx context.Context) (any, error) {
		return e.run(ctx, l, try)
	})
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
	l.roundTrips.Go(func() {
		answer, err := command(ctx)
		home <- outcome{answer, err}
	})
	select {
	case came := <-home:
		return came.answer, noAnswer(ctx, came.err)
	case <-ctx.Done():
	case <-quit:
	}
	select {
	case came := <-home: // both at once: what is answered is answered
		return came.answer, noAnswer(ctx, came.err)
	default:
		return answer, ErrNoAnswer
	}
}

// releaseBound is how long a release may keep its caller. What has not been confirmed by then is
// repeated in the background.
const releaseBound = 3 * time.Second

// failed wraps what went wrong on a round trip.
func failed(verb, name string, err error) error {
	return fmt.Errorf("locking: %s %q: %w", verb, name, err)
}
