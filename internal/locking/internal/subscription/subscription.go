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

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/server"
)

// A Subscription receives what is published on a channel. While it is broken this process should not queue: without
// wake-ups it would be taken for dead.
type Subscription struct {
	Silence time.Duration // before Listen only

	server    *server.Server
	channel   string
	received  func(payload string)
	missed    func() // called whenever it begins to work: earlier messages have been missed
	ready     chan struct{}
	first     sync.Once
	connected atomic.Bool
}

// New returns the subscription of a channel.
func New(s *server.Server, channel string, received func(payload string), missed func()) *Subscription {
	return &Subscription{
		Silence: policy.Quiet, server: s, channel: channel, received: received, missed: missed, ready: make(chan struct{}),
	}
}

// Connected reports whether a message would be received.
func (s *Subscription) Connected() bool { return s.connected.Load() }

// Ready is closed when the subscription first works.
func (s *Subscription) Ready() <-chan struct{} { return s.ready }

// Listen receives until stop is closed. If the server falls silent, it continues on a new connection.
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

// receive receives until ctx ends or the server no longer answers. After an error the client reconnects and subscribes
// again by itself. But a dead host sends no error, so after a silence it sends a ping.
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
	_ = sub.Subscribe(ctx, s.channel) // if it fails, ReceiveTimeout returns an error and tries again
	asked := false
	for pause := policy.Reconnect(); ; {
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
			pause.Reset()
			s.connected.Store(true)
			s.missed()
			s.first.Do(func() { close(s.ready) }) // last: its waiters look again by themselves
		case *redis.Message:
			s.received(message.Payload)
		}
		if err != nil {
			s.server.NoticeError(err)
			s.connected.Store(false)
			server.Rest(ctx, pause.Now()) // before it tries again to connect
			pause.Double()
		}
	}
}
