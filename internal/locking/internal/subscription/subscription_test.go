package subscription_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"inventory/internal/locking/internal/server"
	"inventory/internal/locking/internal/subscription"
	"inventory/internal/servertest"
)

func TestMain(m *testing.M) {
	logging.Disable() // the client tells of every fault that we make
	goleak.VerifyTestMain(m)
}

const channel = "wake"

// A listener is a subscription to a Redis of the test's own.
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

func listen(t *testing.T) *listener {
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
	l := &listener{
		t: t, own: own, client: redis.NewClient(&redis.Options{Addr: own.Addr(), DisableIdentity: true}),
		received: make(chan string, 100), missed: make(chan struct{}, 100), told: make(chan error, 100),
	}
	t.Cleanup(func() { _ = l.client.Close() })
	l.Subscription = subscription.New(server.New(l.client), channel, func(payload string) { l.received <- payload }, func() { l.missed <- struct{}{} }, func(why error) { l.told <- why })
	l.Silence = 200 * time.Millisecond
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
	within(t, "it tells that it works", l.missed)
	if !l.Hears() {
		t.Error("not connected")
	}
	return l
}

// within waits for something.
func within[T any](t *testing.T, what string, signal <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-signal:
	case <-time.After(20 * time.Second):
		t.Fatalf("waited in vain: %s", what)
	}
	return got
}

// until waits until a subscription is connected, or is not.
func (l *listener) until(connected bool) {
	l.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); l.Hears() != connected; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			l.t.Fatalf("connected: %t", !connected)
		}
	}
}

func (l *listener) publish(payload string) {
	l.t.Helper()
	if err := l.client.Publish(l.t.Context(), channel, payload).Err(); err != nil {
		l.t.Fatal(err)
	}
}

// Messages arrive in order, also after a silence of several pings.
func TestReceive(t *testing.T) {
	t.Parallel()
	l := listen(t)
	for round := range 2 {
		for i := range 3 {
			l.publish(fmt.Sprint(i))
		}
		for i := range 3 {
			if got := within(t, "a message", l.received); got != fmt.Sprint(i) {
				t.Errorf("received %q in place of %d", got, i)
			}
		}
		if round == 0 {
			time.Sleep(3 * l.Silence) // the test needs this time to pass
		}
	}
	if len(l.missed) > 0 {
		t.Error("an idle connection was taken for broken")
	}
}

// While the server is gone no caller should queue. When it is back, the subscription works again, and reports that
// messages may have been missed.
func TestServerComesBack(t *testing.T) {
	t.Parallel()
	l := listen(t)
	if err := l.own.Kill(); err != nil {
		t.Fatal(err)
	}
	l.until(false)
	if err := l.own.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	within(t, "it tells that it works again", l.missed)
	l.until(true)
	l.publish("again")
	if got := within(t, "a message", l.received); got != "again" {
		t.Errorf("received %q", got)
	}
}

// A silent server counts as gone, although its connection is open.
func TestServerFallsSilent(t *testing.T) {
	t.Parallel()
	l := listen(t)
	if err := l.own.Pause(); err != nil {
		t.Fatal(err)
	}
	l.until(false)
	if err := l.own.Resume(); err != nil {
		t.Fatal(err)
	}
	within(t, "it tells that it works again", l.missed)
	l.until(true)
}

// Stop ends it at once, also while the server stands still.
func TestStop(t *testing.T) {
	t.Parallel()
	l := listen(t)
	if err := l.own.Pause(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.stop()
	}()
	within(t, "it ends", ended)
	if l.Hears() {
		t.Error("connected after its end")
	}
	if err := l.own.Resume(); err != nil {
		t.Fatal(err)
	}
}
