package stock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"inventory/internal/servertest"
	"inventory/internal/stock"
)

// after is an observer that calls f once, when a number of orders has been written.
type after struct {
	counts
	orders int
	f      func()
	mu     sync.Mutex
}

func (a *after) BatchWritten(orders int, took time.Duration, locked bool) {
	a.counts.BatchWritten(orders, took, locked)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.orders -= orders; a.orders <= 0 && a.f != nil {
		a.f()
		a.f = nil
	}
}

// TestLosingRedisCostsNoUnit takes Redis away in mid-sale: the guard goes on alone.
func TestLosingRedisCostsNoUnit(t *testing.T) {
	for name, fault := range map[string]func(*servertest.Redis) error{
		"killed":  (*servertest.Redis).Kill,
		"stopped": (*servertest.Redis).Pause,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, err := servertest.StartRedis(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := server.Stop(); err != nil {
					t.Error(err)
				}
			})
			w := real(t)
			w.redisURL = server.URL()
			seen := &after{orders: 100, f: func() {
				if err := fault(server); err != nil {
					t.Error(err)
				}
			}}
			services := []*stock.Service{w.start(seen), w.start(seen)}
			w.create(services[0], 800, 4)
			told := sellInWaves(t, services, 10, 100)
			w.checkSale(told)
			if told.accepted != 800 || seen.lockless.Load() == 0 {
				t.Errorf("accepted %d, %d batches without a lock", told.accepted, seen.lockless.Load())
			}
		})
	}
}

// sellInWaves lets buyers come in waves, so that a sale is more than one batch.
func sellInWaves(t *testing.T, services []*stock.Service, waves, buyers int) *tally {
	t.Helper()
	told := &tally{}
	for wave := range waves {
		var wg sync.WaitGroup
		for n := range buyers {
			o := stock.Order{OrderID: fmt.Sprintf("%d-%d", wave, n), Quantity: 1}
			wg.Go(func() {
				_, created, err := services[n%len(services)].Deduct(t.Context(), sku, o)
				told.add(o, created, err)
			})
		}
		wg.Wait()
	}
	return told
}

// TestDatabaseThatHangsIsAnsweredInTime: a caller's patience ends, and no worker of the caller hangs with it.
func TestDatabaseThatHangsIsAnsweredInTime(t *testing.T) {
	w := embedded(t)
	slow := &slowStore{Store: w.store, entered: make(chan struct{}), proceed: make(chan struct{})}
	s := w.startOn(slow, nil)
	w.create(s, 10, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-slow.entered
		<-ctx.Done()
		slow.proceed <- struct{}{}
	}()
	_, _, err := s.Deduct(ctx, sku, stock.Order{OrderID: "a", Quantity: 1})
	if stock.CodeOf(err) != stock.CodeUnavailable {
		t.Errorf("got %v", err)
	}
	<-done
}
