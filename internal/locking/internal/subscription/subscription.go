// Package subscription listens for the wake-ups of a process, on one connection and one channel.
package subscription

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking/internal/server"
)

const (
	// silence is how long a subscription receives nothing before it asks whether anybody is there, and then how long
	// it waits for the answer.
	silence = 3 * time.Second

	// firstPause and lastPause are how long it waits before it connects again: doubled each time.
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// A Subscription receives what is published on a channel. While it is broken nobody should queue, for a process that
// does not listen would be taken for dead.
type Subscription struct {
	Silence time.Duration // before Listen only

	server    *server.Server
	channel   string
	received  func(payload string)
	missed    func() // called when it stands (again): what was published before has been missed
	ready     chan struct{}
	first     sync.Once
	connected atomic.Bool
}

// New returns the subscription of a channel.
func New(s *server.Server, channel string, received func(payload string), missed func()) *Subscription {
	return &Subscription{
		Silence: silence, server: s, channel: channel, received: received, missed: missed, ready: make(chan struct{}),
	}
}

// Connected tells whether a message would be received.
func (s *Subscription) Connected() bool { return s.connected.Load() }

// Ready is closed when the subscription first stands.
func (s *Subscription) Ready() <-chan struct{} { return s.ready }

// Listen receives until stop is closed, over a new connection whenever the other side has fallen silent.
func (s *Subscription) Listen(stop <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { // ends the read that receive is in
		<-stop
		cancel()
	})
	for ctx.Err() == nil {
		s.receive(ctx)
	}
}

// receive receives until ctx ends, or nobody answers any more. After an error the client reconnects and subscribes
// again by itself. But a host that is gone says nothing: so who receives nothing for a while asks.
func (s *Subscription) receive(ctx context.Context) {
	sub := s.server.Client.Subscribe(ctx)
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
	_ = sub.Subscribe(ctx, s.channel) // a failure shows when we receive, which tries again
	asked := false
	for pause := firstPause; ; {
		message, err := sub.ReceiveTimeout(ctx, s.Silence)
		if ctx.Err() != nil {
			return
		}
		if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
			if asked {
				s.server.NoticeError(err)
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
			pause = firstPause
			s.connected.Store(true)
			s.first.Do(func() { close(s.ready) })
			s.missed()
		case *redis.Message:
			s.received(message.Payload)
		}
		if err != nil {
			s.server.NoticeError(err)
			s.connected.Store(false)
			rest(ctx, pause)
			pause = min(2*pause, lastPause)
		}
	}
}

// rest waits between two tries to connect.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
