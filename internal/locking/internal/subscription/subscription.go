// Package subscription listens for the wake-ups of a process, on one connection and one channel.
package subscription

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/server"
)

// ErrDeaf is why no messages come although the server has accepted the subscription.
var ErrDeaf = errors.New("the server accepts the subscription, but no messages come")

// errCannotListen is why none come to a Ring, or to any client that embeds one.
var errCannotListen = errors.New("this client cannot listen where scripts publish")

// A Subscription receives what is published on a channel.
type Subscription struct {
	Silence time.Duration // before Listen only

	server   *server.Server
	channel  string
	received func(payload string)
	missed   func()          // called whenever it begins to work: earlier messages have been missed
	report   func(why error) // called with why no messages come, and with nil when they come again

	connected atomic.Bool  // the server has confirmed it
	unheard   atomic.Int32 // how many messages have not come, it seems, since the last one that has
	uncounted atomic.Bool  // PUBLISH does not always count it

	mu       sync.Mutex
	renew    bool      // the next look ends this connection, so that another one begins
	failure  error     // why it does not work
	since    time.Time // since when it has worked, or not
	reported bool      // the report says that no messages come
}

// New returns the subscription of a channel.
func New(s *server.Server, channel string, received func(payload string), missed func(), report func(why error)) *Subscription {
	l := &Subscription{
		Silence: policy.Quiet, server: s, channel: channel, received: received, missed: missed, report: report,
	}
	l.uncounted.Store(!s.Counts())
	if !s.CanListen {
		l.failure = errCannotListen
	}
	return l
}

// Hears reports whether a message would be received.
func (s *Subscription) Hears() bool { return s.connected.Load() && s.unheard.Load() == 0 }

// Counted reports whether PUBLISH would count it.
func (s *Subscription) Counted() bool { return s.connected.Load() && !s.uncounted.Load() }

// Doubt is called when this process has lost its turn: a message did not come, or PUBLISH did not count the subscription and
// it was taken for dead. Then the subscription is made anew; not often, because a slow process loses its turn as well.
func (s *Subscription) Doubt(heard bool) {
	if !s.connected.Load() {
		return // that is known
	}
	first := !s.uncounted.Swap(true)
	if !heard {
		s.unheard.Add(1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.renew = s.renew || first || time.Since(s.since) >= s.Silence
}

// Polled is called when the server has answered a caller that cannot be woken. A failure is reported once it is more than a
// moment without a connection.
func (s *Subscription) Polled() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure != nil && (server.IsAnswer(s.failure) || time.Since(s.since) >= s.Silence) {
		s.reportLocked(s.failure)
	}
}

// Unheard is called when a caller has had its turn without having been woken. It is possible once: a lease ran out, or the message is
// about to come. It must not be so again and again.
func (s *Subscription) Unheard() {
	if !s.connected.Load() || s.unheard.Add(1) < deafAfter {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reportLocked(ErrDeaf)
}

// deafAfter is after how many messages that have not come it is reported.
const deafAfter = 3

// reportLocked reports, once, why no messages come.
func (s *Subscription) reportLocked(why error) {
	if !s.reported {
		s.reported = true
		s.report(why)
	}
}

// works notes that the server has confirmed the subscription, or has sent a message.
func (s *Subscription) works(heard bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if heard {
		s.unheard.Store(0)
	}
	if !s.connected.Swap(true) {
		s.failure, s.since = nil, time.Now()
	}
	if s.reported && s.unheard.Load() == 0 {
		s.reported = false
		s.report(nil)
	}
}

// mustRenew reports, once, that the connection has to be made anew.
func (s *Subscription) mustRenew() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	renew := s.renew
	s.renew = false
	return renew
}

// fails notes that it does not work.
func (s *Subscription) fails(err error) {
	s.server.NoticeError(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connected.Store(false)
	if s.failure == nil {
		s.since = time.Now()
	}
	s.failure = err
}

// Listen receives until stop is closed. After a failure, a refusal or silence it goes on over a new connection.
func (s *Subscription) Listen(stop <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		<-stop
		cancel()
	})
	pause := policy.Reconnect
	for attempt := rand.IntN(1 << 14); ctx.Err() == nil; attempt++ { // so that processes spread over the nodes
		if s.receive(ctx, attempt) {
			pause = policy.Reconnect
		}
		server.Rest(ctx, pause)
		pause = min(2*pause, policy.LastReconnect)
	}
}

// receive receives on one connection, until ctx ends, it fails or the subscription is to be made anew. It reports whether it has
// worked. A dead host sends no error, so after a silence it sends a ping.
func (s *Subscription) receive(ctx context.Context, attempt int) (worked bool) {
	sub := s.server.Subscribe(ctx, attempt)
	defer s.connected.Store(false)
	defer func() { _ = sub.Close() }()
	if err := sub.Subscribe(ctx, s.channel); err != nil {
		s.fails(err)
		return false
	}
	defer context.AfterFunc(ctx, func() { _ = sub.Close() })() // ends the read; not the attempt to connect, which locks sub
	for asked := false; ; {
		message, err := sub.ReceiveTimeout(ctx, s.Silence)
		if ctx.Err() != nil || s.mustRenew() {
			return worked
		}
		if timeout := net.Error(nil); !asked && errors.As(err, &timeout) && timeout.Timeout() {
			asked, err = true, sub.Ping(ctx)
		} else {
			asked = false
		}
		if err != nil {
			s.fails(err)
			return worked
		}
		switch message := message.(type) {
		case *redis.Subscription:
			worked = true
			s.works(false)
			s.missed()
		case *redis.Message:
			s.works(true)
			s.received(message.Payload)
		}
	}
}
