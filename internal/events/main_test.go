package events

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"inventory/internal/busytest"
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
	if err := errors.Join(server.Stop(), busytest.Leaks()); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// newHub returns a hub of this process alone.
func newHub(t testing.TB, c Config) *Hub {
	t.Helper()
	h := NewHub(c)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), busytest.Patience)
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
		Addr: s.Addr(), MaxRetries: -1, DialerRetries: 1, DialTimeout: busytest.Patience,
		ReadTimeout: busytest.Patience, WriteTimeout: busytest.Patience, ContextTimeoutEnabled: true,
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
	for !enough(all) {
		busytest.Receive(t, fmt.Sprintf("more than %d events, the last of which are %+v", len(all), all[max(0, len(all)-3):]), s.Ready())
		all = append(all, s.Take()...)
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
