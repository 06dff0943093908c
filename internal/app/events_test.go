package app_test

import (
	"context"
	"encoding/json"
	"iter"
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/tmaxmax/go-sse"

	"inventory/internal/api/client"
	"inventory/internal/app"
	"inventory/internal/stock"
	"inventory/internal/stock/stocktest"
)

// stream returns the frames of a stream of events one by one.
type stream func() (sse.Event, error, bool)

func watch(t *testing.T, a *app.App, query string) stream {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.URL()+"/v1/events"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		t.Fatalf("status %d", response.StatusCode)
	}
	next, stop := iter.Pull2(sse.Read(response.Body, nil))
	t.Cleanup(func() {
		response.Body.Close()
		stop()
	})
	return next
}

// TestEventsOfAllProcesses: the listeners of each process receive them.
func TestEventsOfAllProcesses(t *testing.T) {
	t.Parallel()
	s := open(t, app.LockReentrant, redisServers[0].URL())
	for _, a := range s.apps {
		for end := time.Now().Add(20 * time.Second); s.metric(a, "inventory_events_failing") != 0; {
			if time.Now().After(end) {
				t.Fatal("a service does not hear the others")
			}
		}
	}
	sku := "watched-" + strconv.FormatUint(rand.Uint64(), 36) // tests share Redis servers
	if _, _, err := s.apps[0].Service().CreateSKU(t.Context(), stock.NewSKU{SKU: sku, Segments: 1}); err != nil {
		t.Fatal(err)
	}
	streams := []stream{watch(t, s.apps[0], "?sku="+sku), watch(t, s.apps[1], "?sku="+sku)}
	if n := s.metric(s.apps[0], "inventory_event_listeners"); n != 1 {
		t.Errorf("the metric tells of %d listeners", n)
	}
	published, told := 0, make([]int, len(streams))
	for _, more := range []int{500, 1} {
		for range more {
			for _, a := range s.apps {
				a.Events().Publish(stock.Event{Kind: stock.EventSale, SKU: sku, Orders: 1, Units: 2, At: time.Now()})
				published++
			}
		}
		for i, next := range streams {
			for told[i] < published {
				told[i] += ordersOf(t, next)
			}
			if told[i] != published {
				t.Fatalf("%d orders were published, %d told", published, told[i])
			}
		}
	}
}

func ordersOf(t *testing.T, next stream) int {
	t.Helper()
	f, err, ok := next()
	var event client.Event
	if err != nil || !ok {
		t.Fatalf("the stream ended: %v", err)
	}
	if err := json.Unmarshal([]byte(f.Data), &event); err != nil || f.Type != "sale" || event.Orders == nil {
		t.Fatalf("%+v, %v", f, err)
	}
	return *event.Orders
}

// TestEventsOfOneProcess: they need no Redis.
func TestEventsOfOneProcess(t *testing.T) {
	t.Parallel()
	for _, lock := range []string{app.LockNone, app.LockReentrant} {
		a := start(t, app.Config{Lock: lock})
		next := watch(t, a, "")
		a.Events().Publish(stock.Event{Kind: stock.EventSoldOut, SKU: "a", At: time.Now()})
		if f, err, ok := next(); !ok || err != nil || f.Type != "sold_out" {
			t.Errorf("%s: %+v, %v", lock, f, err)
		}
		if a.Events().Failing() {
			t.Errorf("%s: it misses other processes", lock)
		}
	}
}

// TestDrainEndsStreams: at once, and cleanly.
func TestDrainEndsStreams(t *testing.T) {
	t.Parallel()
	a := start(t, app.Config{DrainTimeout: 20 * time.Second})
	var streams []stream
	for range 20 {
		streams = append(streams, watch(t, a, ""))
	}
	begun := time.Now()
	if err := a.Close(context.WithoutCancel(t.Context())); err != nil || time.Since(begun) > 5*time.Second {
		t.Errorf("drained after %s with %v", time.Since(begun), err)
	}
	for _, next := range streams {
		if f, err, ok := next(); ok || err != nil {
			t.Errorf("a stream did not end well: %+v, %v", f, err)
		}
	}
}

// start starts a service on a SQLite file of its own.
func start(t *testing.T, c app.Config) *app.App {
	t.Helper()
	c.DatabaseURL = "sqlite:" + stocktest.SQLiteFile(t)
	a, err := app.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return a
}
