package selling_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"inventory/internal/servertest"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// after is an observer that calls f once, when a number of orders has been written.
type after struct {
	counts
	orders int
	f      func()
	mu     sync.Mutex
}

func (a *after) note(did selling.Activity) {
	a.counts.note(did)
	if did.Kind != selling.BatchWritten {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.orders -= did.Count; a.orders <= 0 && a.f != nil {
		a.f()
		a.f = nil
	}
}

// TestLosingRedisCostsNoUnit takes Redis away in mid-sale: selling continues under the guard alone.
func TestLosingRedisCostsNoUnit(t *testing.T) {
	for name, fault := range map[string]func(*servertest.Redis) error{
		"killed":  (*servertest.Redis).Kill,
		"stopped": (*servertest.Redis).Pause,
		"forgets": forget,
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
			w.always = true
			w.redisURL = server.URL()
			seen := &after{orders: 100, f: func() {
				if err := fault(server); err != nil {
					t.Error(err)
				}
			}}
			services := []*selling.Service{w.start(seen.note), w.start(seen.note)}
			w.create(services[0], 800, 4)
			told := sellInWaves(t, services, 10, 100)
			w.checkSale(told)
			if told.accepted != 800 {
				t.Errorf("accepted %d, want 800", told.accepted)
			}
			if name != "forgets" && seen.lockless.Load() == 0 {
				t.Error("no batch was written without a lock")
			}
		})
	}
}

// forget makes a server forget all locks while they are held.
func forget(server *servertest.Redis) error {
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	return client.FlushAll(context.Background()).Err()
}

// TestKilledDatabaseLosesNothing kills PostgreSQL in mid-sale and starts it again. Buyers whose outcome is unknown
// retry, and every order is accepted once.
func TestKilledDatabaseLosesNothing(t *testing.T) {
	t.Parallel()
	server, err := servertest.StartPostgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	template, err := migrated(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	w := realOn(t, server, template)
	down := make(chan error, 1)
	// The worker itself kills it, after its first batch, so the sale cannot be over before.
	services := []*selling.Service{w.start((&after{orders: 1, f: func() { down <- server.Kill() }}).note), w.start(nil)}
	w.create(services[0], 1200, 4)
	restarted := make(chan error, 1)
	go func() {
		restarted <- errors.Join(<-down, server.Restart(t.Context()))
	}()
	told := &tally{}
	var unknown atomic.Int64
	var wg sync.WaitGroup
	for n := range 1500 {
		o := stock.Order{OrderID: fmt.Sprint(n), Quantity: 1}
		wg.Go(func() {
			for {
				_, created, err := services[n%2].Deduct(t.Context(), sku, o)
				if stock.CodeOf(err) == stock.CodeUnavailable && t.Context().Err() == nil {
					unknown.Add(1)
					continue
				}
				if err == nil {
					created = true // now, or in an attempt whose answer was lost
				}
				told.add(o, created, err)
				return
			}
		})
	}
	wg.Wait()
	if err := <-restarted; err != nil {
		t.Fatal(err)
	}
	w.reopen() // the pool may still hold connections to the server that died
	w.checkSale(told)
	if told.accepted != 1200 || unknown.Load() == 0 {
		t.Errorf("accepted %d of 1200, %d outcomes were unknown", told.accepted, unknown.Load())
	}
}

// sellInWaves lets buyers come in waves, so that a sale is more than one batch.
func sellInWaves(t *testing.T, services []*selling.Service, waves, buyers int) *tally {
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

// TestDatabaseThatHangsIsAnsweredInTime: a caller's time-out ends its wait, and no worker hangs with the database.
func TestDatabaseThatHangsIsAnsweredInTime(t *testing.T) {
	w := embedded(t)
	slow := &slowStore{Store: w.store, entered: make(chan struct{}), proceed: make(chan struct{})}
	s := w.startOn(slow, nil)
	w.create(s, 10, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-slow.entered
		cancel()
		slow.proceed <- struct{}{}
	}()
	_, _, err := s.Deduct(ctx, sku, stock.Order{OrderID: "a", Quantity: 1})
	if stock.CodeOf(err) != stock.CodeUnavailable {
		t.Errorf("got %v", err)
	}
	<-done
}
