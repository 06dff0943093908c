package locking

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// subscribeBound is how long a waiter waits for the subscription to stand before it polls without.
const subscribeBound = 250 * time.Millisecond

// subscription listens for this process's wake-ups, on one connection and one channel. It begins with the
// first wait. While it is broken nobody queues, for a process that does not listen would be taken for
// dead; waiters poll until it stands again.
type subscription struct {
	locks   *Locks
	once    sync.Once
	stands  atomic.Bool
	changed chan struct{} // closed when it first stands
}

func newSubscription(l *Locks) *subscription {
	return &subscription{locks: l, changed: make(chan struct{})}
}

// listening tells whether a wake-up would be heard.
func (s *subscription) listening() bool { return s.stands.Load() }

// start begins to listen when that has not been done, and waits for it. It returns true when the caller
// should look at its lock once more: it has looked before the wake-ups could be heard.
func (s *subscription) start(c *call) bool {
	select {
	case <-s.changed:
		return false
	default:
	}
	s.once.Do(func() { s.locks.loops.Go(s.listen) })
	limit := subscribeBound
	if !c.until.IsZero() {
		limit = min(limit, time.Until(c.until))
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-s.changed:
		return true
	case <-timer.C:
	case <-c.ctx.Done():
	case <-s.locks.closing:
	}
	return false
}

// listen receives until stop. The client reconnects and subscribes again by itself.
func (s *subscription) listen() {
	l := s.locks
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	sub := l.rdb.Subscribe(ctx)
	closed := make(chan struct{})
	l.loops.Go(func() { // ends the read that Receive is in
		defer close(closed)
		<-l.stop
		cancel()
		_ = sub.Close()
	})
	defer func() { <-closed }()
	_ = sub.Subscribe(ctx, wakeChannel(l.process)) // a failure shows in Receive, which tries again
	first := true
	for pause := janitorPause; ; {
		message, err := sub.Receive(ctx)
		if ctx.Err() != nil {
			return
		}
		switch message := message.(type) {
		case *redis.Subscription:
			pause = janitorPause
			s.stands.Store(true)
			if first {
				close(s.changed)
				first = false
			}
			l.wakeHeads() // what was published in between has been missed
		case *redis.Message:
			l.woken(message.Payload)
		}
		if err != nil {
			l.noticeError(err)
			s.stands.Store(false)
			s.rest(pause)
			pause = min(2*pause, janitorPauseMax)
		}
	}
}

// rest waits between two tries to connect.
func (s *subscription) rest(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.locks.stop:
	}
}
