package app_test

import (
	"context"
	"encoding/json"
	"iter"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tmaxmax/go-sse"

	"inventory/internal/api/client"
	"inventory/internal/app"
	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// stream returns the frames of a stream of events one by one.
type stream func() (sse.Event, error, bool)

func watch(t *testing.T, a *app.App, query string) stream {
	t.Helper()
	request, err := http.NewRequestWithContext(busytest.Context(t), http.MethodGet, a.URL()+"/v1/events"+query, nil)
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
		busytest.Soon(t, "a service hears the others", func() bool { return s.metric(a, "inventory_events_failing") == 0 })
	}
	busytest.Soon(t, "all listeners hear of all orders, and Redis takes all events in time", func() bool {
		return s.hearAll("watched-" + strconv.FormatUint(rand.Uint64(), 36)) // tests share Redis servers
	})
}

// hearAll lets both processes publish orders of a new SKU, and demands that a listener at each hears of all of them. It returns false
// if listeners were told that events are lost: Redis may not have taken them in time.
func (s *site) hearAll(sku string) bool {
	s.t.Helper()
	if _, _, err := s.apps[0].Service().CreateSKU(s.t.Context(), stock.NewSKU{SKU: sku, Segments: 1}); err != nil {
		s.t.Fatal(err)
	}
	streams := []stream{watch(s.t, s.apps[0], "?sku="+sku), watch(s.t, s.apps[1], "?sku="+sku)}
	if n := s.metric(s.apps[0], "inventory_event_listeners"); n < 1 {
		s.t.Errorf("the metric tells of %d listeners", n)
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
				orders, lost := ordersOf(s.t, next)
				if told[i] += orders; lost {
					return false
				}
			}
			if told[i] != published {
				s.t.Fatalf("%d orders were published, %d told", published, told[i])
			}
		}
	}
	return true
}

// ordersOf returns the orders of the next event, or that events are lost.
func ordersOf(t *testing.T, next stream) (orders int, lost bool) {
	t.Helper()
	f, err, ok := next()
	if err != nil || !ok {
		t.Fatalf("the stream ended: %v", err)
	}
	if f.Type == "lost" {
		return 0, true
	}
	var event client.Event
	if err := json.Unmarshal([]byte(f.Data), &event); err != nil || f.Type != "sale" || event.Orders == nil {
		t.Fatalf("%+v, %v", f, err)
	}
	return *event.Orders, false
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

// TestDrainEndsStreams: cleanly, and without waiting for the listeners or for the end of the drain time-out.
func TestDrainEndsStreams(t *testing.T) {
	t.Parallel()
	a := start(t, app.Config{})
	var streams []stream
	for range 20 {
		streams = append(streams, watch(t, a, ""))
	}
	if err := a.Close(context.WithoutCancel(t.Context())); err != nil && strings.Contains(err.Error(), "in flight") {
		t.Errorf("the streams did not end: %v", err)
	}
	for _, next := range streams {
		if f, err, ok := next(); ok || err != nil {
			t.Errorf("a stream did not end well: %+v, %v", f, err)
		}
	}
}
