package events

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"inventory/internal/servertest"
	"inventory/internal/stock"
)

// server is the private Redis of this package's tests.
var server *servertest.Redis

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	logging.Disable() // the errors of go-redis say what it logs
	var err error
	if server, err = servertest.StartRedis(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code = m.Run()
	// A pool whose server is down checks once a second whether it has been closed.
	dialling := goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial")
	if err := errors.Join(server.Stop(), goleak.Find(dialling)); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// patience is how long a test waits for something that must come.
const patience = 20 * time.Second

// newHub returns a hub of this process alone.
func newHub(t testing.TB, c Config) *Hub {
	t.Helper()
	h := NewHub(c)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return h
}

// newRelayed returns a hub that receives batches of others on a channel of a Redis server. Its subscription may not
// work yet.
func newRelayed(t *testing.T, s *servertest.Redis, channel string) *Hub {
	t.Helper()
	client := redis.NewClient(&redis.Options{
		Addr: s.Addr(), MaxRetries: -1, DialerRetries: 1, DialTimeout: time.Second,
		ReadTimeout: 250 * time.Millisecond, WriteTimeout: 250 * time.Millisecond, ContextTimeoutEnabled: true,
	})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return newHub(t, Config{Redis: client, Channel: channel})
}

func subscribe(t testing.TB, h *Hub, sku string) *Subscription {
	t.Helper()
	s, err := h.Subscribe(Caller{}, sku)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// listenUntil takes from a subscription until enough returns true.
func listenUntil(t testing.TB, s *Subscription, enough func([]Delivery) bool) []Delivery {
	t.Helper()
	var all []Delivery
	over := time.After(patience)
	for !enough(all) {
		select {
		case <-s.Ready():
			all = append(all, s.Take()...)
		case <-over:
			t.Fatalf("after %d things told, not enough: %+v", len(all), all[max(0, len(all)-3):])
		}
	}
	return all
}

// count returns how many events arrived, and how many were lost.
func count(all []Delivery) (told, lost int) {
	for _, t := range all {
		if t.Lost > 0 {
			lost += int(t.Lost) //nolint:gosec // of tests
		} else {
			told++
		}
	}
	return told, lost
}

func sold(sku string, orders int) stock.Event {
	return stock.Event{Kind: stock.EventSale, SKU: sku, Orders: orders, Units: int64(2 * orders), At: time.Now()}
}

func soldOut(sku string) stock.Event {
	return stock.Event{Kind: stock.EventSoldOut, SKU: sku, At: time.Now()}
}

func back(sku string) stock.Event {
	return stock.Event{Kind: stock.EventBackInStock, SKU: sku, At: time.Now()}
}

// silent returns the address of a server that accepts connections and sends nothing.
func silent(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String() // the kernel accepts
}
