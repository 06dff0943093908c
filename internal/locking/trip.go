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
	case *redis.ClusterClient:
		return rdb.Options().ContextTimeoutEnabled
	case *redis.Ring:
		return rdb.Options().ContextTimeoutEnabled
	default:
		return false
	}
}

// trip runs a command for no longer than ctx allows and until says, and returns its answer or ErrNoAnswer.
//
// A client that keeps deadlines runs it right here, which is faster: it hears of a deadline at
// once, and of a mere cancellation when its own time-out for reads has passed. For any other client the command
// has a goroutine of its own,
// and is left behind when ctx ends or quit is closed. It ends by the client's own time-outs then, its
// answer is dropped, and Close waits for it.
//
// Only call it from work that Close waits for.
func (l *Locks) trip(ctx context.Context, until time.Time, quit <-chan struct{}, command func(context.Context) (any, error)) (any, error) {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	if l.inPlace {
		answer, err := command(ctx)
		if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() || err != nil && ctx.Err() != nil {
			err = ErrNoAnswer // whose end it was, the caller tells
		}
		return answer, err
	}
	type outcome struct {
		answer any
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
			return nil, ErrNoAnswer
		}
		return came.answer, came.err
	case <-ctx.Done():
	case <-quit:
	}
	select {
	case came := <-home: // both at once: what is answered is answered
		return came.answer, came.err
	default:
		return nil, ErrNoAnswer
	}
}

// releaseBound is how long a release may keep its caller. What has not been confirmed by then is
// repeated in the background.
const releaseBound = 3 * time.Second

// failed wraps what went wrong on a trip.
func failed(verb, name string, err error) error {
	return fmt.Errorf("locking: %s %q: %w", verb, name, err)
}
