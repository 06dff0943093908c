package subscription_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"inventory/internal/busytest"
	"inventory/internal/locking/internal/server"
	"inventory/internal/locking/internal/subscription"
	"inventory/internal/servertest"
)

func TestMain(m *testing.M) {
	logging.Disable() // the client tells of every fault that we make
	busytest.Main(m)
}

const channel = "wake"

// A listener is a subscription to a server of the test's own.
type listener struct {
	t      *testing.T
	own    *servertest.Redis
	client *redis.Client
	*subscription.Subscription
	received chan string
	missed   chan struct{}
	told     chan error
	stop     func() // and wait until it has ended
}

// listen starts a listener that sends a ping after a silence.
func listen(t *testing.T, silence time.Duration) *listener {
	t.Helper()
	own, err := servertest.StartRedis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := own.Stop(); err != nil {
			t.Error(err)
		}
	})
	client := redis.NewClient(&redis.Options{Addr: own.Addr(), DisableIdentity: true, ReadTimeout: busytest.Patience})
	return listenOn(t, own, client, silence)
}

// listenOn is listen with a client of a server, which is nil if it is not a real one.
func listenOn(t *testing.T, own *servertest.Redis, client *redis.Client, silence time.Duration) *listener {
	t.Helper()
	l := &listener{
		t: t, own: own, client: client,
		received: make(chan string, 100), missed: make(chan struct{}, 100), told: make(chan error, 100),
	}
	t.Cleanup(func() { _ = l.client.Close() })
	l.Subscription = subscription.New(server.New(l.client), channel, func(payload string) { l.received <- payload }, func() { l.missed <- struct{}{} }, func(why error) { l.told <- why })
	l.Silence = silence
	if l.Hears() {
		t.Error("connected before it listens")
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	l.stop = sync.OnceFunc(func() {
		close(stop)
		<-ended
	})
	t.Cleanup(l.stop)
	go func() {
		defer close(ended)
		l.Listen(stop)
	}()
	busytest.Receive(t, "it tells that it works", l.missed)
	busytest.Soon(t, "it is connected", l.Hears)
	return l
}

func (l *listener) publish(payload string) {
	l.t.Helper()
	if err := l.client.Publish(l.t.Context(), channel, payload).Err(); err != nil {
		l.t.Fatal(err)
	}
}

// Messages arrive in order, also after a silence of several pings: the test runs in virtual time, where each is answered at once.
func TestReceive(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		memory := miniredis.NewMiniRedis()
		t.Cleanup(memory.Close)
		client := redis.NewClient(&redis.Options{
			DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
			Dialer: func(context.Context, string, string) (net.Conn, error) { return memory.Dial() },
		})
		l := listenOn(t, nil, client, 200*time.Millisecond)
		for round := range 2 {
			for i := range 3 {
				l.publish(fmt.Sprint(i))
			}
			for i := range 3 {
				if got := busytest.Receive(t, "a message", l.received); got != fmt.Sprint(i) {
					t.Errorf("received %q in place of %d", got, i)
				}
			}
			if round == 0 {
				time.Sleep(10 * l.Silence)
			}
		}
		if len(l.missed) > 0 {
			t.Error("an idle connection was taken for broken")
		}
	})
}

// While the server is gone no caller should queue. When it is back, the subscription works again, and reports that
// messages may have been missed.
func TestServerComesBack(t *testing.T) {
	t.Parallel()
	l := listen(t, busytest.Patience)
	if err := l.own.Kill(); err != nil {
		t.Fatal(err)
	}
	busytest.Soon(t, "it notices that the server has gone", func() bool { return !l.Hears() })
	if err := l.own.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	busytest.Receive(t, "it tells that it works again", l.missed)
	busytest.Soon(t, "it is connected", l.Hears)
	l.publish("again")
	if got := busytest.Receive(t, "a message", l.received); got != "again" {
		t.Errorf("received %q", got)
	}
}

// A silent server counts as gone, although its connection is open.
func TestServerFallsSilent(t *testing.T) {
	t.Parallel()
	l := listen(t, 200*time.Millisecond)
	if err := l.own.Pause(); err != nil {
		t.Fatal(err)
	}
	busytest.Soon(t, "it notices that the server is silent", func() bool { return !l.Hears() })
	if err := l.own.Resume(); err != nil {
		t.Fatal(err)
	}
	busytest.Receive(t, "it tells that it works again", l.missed)
	busytest.Soon(t, "it is connected", l.Hears)
}

// Stop ends it also while the server stands still: the test resumes the server only after that.
func TestStop(t *testing.T) {
	t.Parallel()
	l := listen(t, time.Hour)
	if err := l.own.Pause(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.stop()
	}()
	busytest.Receive(t, "it ends", ended)
	if l.Hears() {
		t.Error("connected after its end")
	}
	if err := l.own.Resume(); err != nil {
		t.Fatal(err)
	}
}
