package events

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/busytest"
	"inventory/internal/servertest"
	"inventory/internal/stock"
)

// connected waits until hubs receive each other's batches.
func connected(t *testing.T, hubs ...*Hub) {
	t.Helper()
	busytest.Soon(t, "the hubs receive from each other", func() bool { return !slices.ContainsFunc(hubs, (*Hub).Failing) })
}

func TestProcessesReceiveFromEachOther(t *testing.T) {
	t.Parallel()
	a, b := newRelayed(t, server, t.Name()), newRelayed(t, server, t.Name())
	stranger := newRelayed(t, server, "elsewhere")
	connected(t, a, b, stranger)
	atA, atB, elsewhere := subscribe(t, a, ""), subscribe(t, b, ""), subscribe(t, stranger, "")
	const n = 500
	for i := range n {
		a.Publish(sold(fmt.Sprint("a", i), 1))
		b.Publish(sold(fmt.Sprint("b", i), 1))
	}
	for _, s := range []*Subscription{atA, atB} {
		all := listenUntil(t, s, func(all []Delivery) bool { return len(all) >= 2*n })
		next := map[string]int{}
		for _, told := range all {
			process := map[string]string{a.process: "a", b.process: "b"}[told.Process]
			if want := fmt.Sprint(process, next[process]); told.SKU != want || told.Lost > 0 {
				t.Fatalf("%+v, want %s", told, want)
			}
			next[process]++
		}
	}
	if all := elsewhere.Take(); len(all) > 0 {
		t.Errorf("received on another channel: %+v", all)
	}
}

// TestRedisComesBack: events that were published meanwhile are delivered, or counted as lost.
func TestRedisComesBack(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	own, err := servertest.StartRedis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := own.Stop(); err != nil {
			t.Error(err)
		}
	})
	a, b := newRelayed(t, own, "events"), newRelayed(t, own, "events")
	connected(t, a, b)
	s := subscribe(t, b, "")
	a.Publish(soldOut("before"))
	listenUntil(t, s, func(all []Delivery) bool { return len(all) == 1 })
	if err := own.Kill(); err != nil {
		t.Fatal(err)
	}
	busytest.Soon(t, "the loss of Redis is noticed", b.Failing)
	here := subscribe(t, a, "")
	published := 0
	// More batches than are kept.
	for range maxWaiting + 10 {
		a.Publish(sold("meanwhile", 1))
		listenUntil(t, here, func(all []Delivery) bool { return len(all) > 0 }) // a batch of its own
		published++
	}
	if err := own.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	connected(t, a, b)
	a.Publish(soldOut("after"))
	all := listenUntil(t, s, func(all []Delivery) bool {
		told, lost := count(all)
		return told+lost >= published+1
	})
	told, lost := count(all)
	if last := all[len(all)-1]; last.SKU != "after" || told+lost != published+1 || lost == 0 {
		t.Errorf("published %d, told %d, lost %d, at last %+v", published, told, lost, last)
	}
}

// TestLossOfTheLastEventsIsNoticed: by a heartbeat.
func TestLossOfTheLastEventsIsNoticed(t *testing.T) {
	t.Parallel()
	a := newRelayed(t, server, t.Name())
	connected(t, a)
	s := subscribe(t, a, "")
	other := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { other.Close() })
	say := func(text string) {
		t.Helper()
		if err := other.Publish(t.Context(), t.Name(), text).Err(); err != nil {
			t.Fatal(err)
		}
	}
	say(`{"process":"other","first":1,"next":1}`)
	say(`nonsense`)
	say(`{"process":"two\nlines","first":1,"next":1}`)
	say(`{"process":"other","first":1,"next":2,"events":[{"kind":"x\ndata: forged","sku":"a"}]}`)
	say(`{"process":"other","first":5,"next":4}`)
	say(`{"process":"other","first":4,"next":4}`)
	all := listenUntil(t, s, func(all []Delivery) bool { return len(all) > 0 })
	if len(all) != 1 || all[0].Lost != 3 {
		t.Errorf("told %+v", all)
	}
}

// TestRedisIsNotNeeded: neither to publish, nor to listen here, nor to close. A hub whose context has ended gives up what waits for
// Redis: it hardly tries again.
func TestRedisIsNotNeeded(t *testing.T) {
	t.Parallel()
	for name, dial := range map[string]func() (net.Conn, error){
		"refused": func() (net.Conn, error) { return nil, errors.New("refused") },
		"silent": func() (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			return ours, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tries atomic.Int64
			client := redis.NewClient(&redis.Options{
				Dialer: func(context.Context, string, string) (net.Conn, error) {
					tries.Add(1)
					return dial()
				},
				MaxRetries: -1, DialerRetries: 1, DialTimeout: time.Second, ReadTimeout: 250 * time.Millisecond, ContextTimeoutEnabled: true,
			})
			defer client.Close()
			h := NewHub(Config{Redis: client, Channel: "events"})
			s := subscribe(t, h, "")
			const orders = 5000 // in each batch
			for range maxWaiting {
				for range orders {
					h.Publish(sold("a", 1))
				}
				told := 0
				for told < orders {
					for _, event := range listenUntil(t, s, func(all []Delivery) bool { return len(all) > 0 }) {
						told += event.Orders
					}
				}
			}
			if !h.Failing() {
				t.Error("it does not say that it fails")
			}
			ended, end := context.WithCancel(t.Context())
			end()
			before := tries.Load()
			if err := h.Close(ended); err != nil {
				t.Error(err)
			}
			if more := tries.Load() - before; more > maxWaiting/4 {
				t.Errorf("it tried %d times more to reach Redis", more)
			}
		})
	}
}

// TestTheLastBatchIsKept: when more wait than there is room for, older ones are lost. Nobody would notice that the last one is missing.
func TestTheLastBatchIsKept(t *testing.T) {
	t.Parallel()
	r := &relay{waiting: make(chan batch, maxWaiting)}
	for n := range uint64(maxWaiting + 3) {
		r.send(newBatch("p", n+1, []stock.Event{sold("a", 1)}, 0))
	}
	close(r.waiting)
	var last batch
	for b := range r.waiting {
		last = b
	}
	if last.First != maxWaiting+3 {
		t.Errorf("the last batch begins with event %d, want %d", last.First, maxWaiting+3)
	}
}
