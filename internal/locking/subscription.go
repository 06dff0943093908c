package locking

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"inventory/internal/locking/internal/keys"

	"github.com/redis/go-redis/v9"
)

// subscribeBound is how long a waiter waits for the subscription to stand before it polls without.
const subscribeBound = 250 * time.Millisecond

// silence is how long a subscription hears nothing before it asks whether anybody is there, and then how long
// it waits for the answer.
const silence = 3 * time.Second

// subscription listens for this process's wake-ups, on one connection and one channel. It begins with the
// first wait. While it is broken nobody queues, for a process that does not listen would be taken for
// dead; waiters poll until it stands again.
type subscription struct {
	locks     *Locks
	once      sync.Once
	first     sync.Once
	connected atomic.Bool
	silence   time.Duration
	ready     chan struct{} // closed when it first stands
}

func newSubscription(l *Locks) *subscription {
	return &subscription{locks: l, silence: silence, ready: make(chan struct{})}
}

// listening tells whether a wake-up would be heard.
func (s *subscription) listening() bool { return s.connected.Load() }

// start begins to listen when that has not been done, and waits for it. It returns true when the caller
// should look at its lock once more: it has looked before the wake-ups could be heard.
func (s *subscription) start(acq *acquisition) bool {
	select {
	case <-s.ready:
		return false
	default:
	}
	s.once.Do(func() { s.locks.loops.Go(s.listen) })
	limit := subscribeBound
	if !acq.until.IsZero() {
		limit = min(limit, time.Until(acq.until))
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-s.ready:
		return true
	case <-timer.C:
	case <-acq.ctx.Done():
	case <-s.locks.closing:
	}
	return false
}

// listen receives until stop, over a new connection whenever the other side has fallen silent.
func (s *subscription) listen() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.locks.loops.Go(func() { // ends the read that hear is in
		<-s.locks.stop
		cancel()
	})
	for ctx.Err() == nil {
		s.receive(ctx)
	}
}

// receive receives until ctx ends, or nobody answers any more. After an error the client reconnects and subscribes
// again by itself. But a host that is gone says nothing: so who hears nothing for a while asks.
func (s *subscription) receive(ctx context.Context) {
	l := s.locks
	sub := l.server.Client.Subscribe(ctx)
	closed := make(chan struct{})
	ended := context.AfterFunc(ctx, func() {
		_ = sub.Close()
		close(closed)
	})
	defer func() {
		if !ended() {
			<-closed
		}
		_ = sub.Close()
		s.connected.Store(false)
	}()
	_ = sub.Subscribe(ctx, keys.WakeChannel(l.process)) // a failure shows when we receive, which tries again
	asked := false
	for pause := cleanerPause; ; {
		message, err := sub.ReceiveTimeout(ctx, s.silence)
		if ctx.Err() != nil {
			return
		}
		if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
			if asked {
				l.server.NoticeError(err)
				return
			}
			asked = true
			if err = sub.Ping(ctx); err == nil {
				continue
			}
		}
		asked = false
		switch message := message.(type) {
		case *redis.Subscription:
			pause = cleanerPause
			s.noteConnected()
		case *redis.Message:
			l.woken(message.Payload)
		}
		if err != nil {
			l.server.NoticeError(err)
			s.connected.Store(false)
			s.rest(pause)
			pause = min(2*pause, cleanerPauseMax)
		}
	}
}

// noteConnected notes that wake-ups are heard from now on.
func (s *subscription) noteConnected() {
	s.connected.Store(true)
	s.first.Do(func() { close(s.ready) })
	s.locks.wakeHeads() // what was published in between has been missed
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
