package selling_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"inventory/internal/busytest"
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
	busytest.Slow(t)
	for name, fault := range map[string]func(*servertest.Redis) error{
		"killed":  (*servertest.Redis).Kill,
		"stopped": (*servertest.Redis).Pause,
		"forgets": forget,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startRedis(t)
			w := realOn(t, postgresServer, postgresTemplate, server)
			w.always = true
			seen := &after{orders: 100, f: func() {
				if err := fault(server); err != nil {
					t.Error(err)
				}
			}}
			services := []*selling.Service{w.start(seen.note), w.start(seen.note)}
			w.create(services[0], 400, 4)
			told := &tally{}
			for wave := range 5 { // so that the sale is more than one batch
				w.untilKnown(services, fmt.Sprint(wave), 100, told)
			}
			w.checkSale(told)
			if told.accepted != 400 {
				t.Errorf("accepted %d, want 400", told.accepted)
			}
			if name != "forgets" && seen.lockless.Load() == 0 {
				t.Error("no batch was written without a lock")
			}
		})
	}
}

// untilKnown lets buyers order one unit each, and repeat that until the outcome is known. It returns how often it was not.
func (w *world) untilKnown(services []*selling.Service, wave string, buyers int, told *tally) (unknown int64) {
	w.t.Helper()
	var unknowns atomic.Int64
	var wg sync.WaitGroup
	for n := range buyers {
		o := stock.Order{OrderID: fmt.Sprint(wave, "-", n), Quantity: 1}
		wg.Go(func() {
			busytest.Soon(w.t, "the outcome of an order is known", func() bool {
				_, _, err := services[n%len(services)].Deduct(w.t.Context(), sku, o)
				if stock.CodeOf(err) == stock.CodeUnavailable {
					unknowns.Add(1)
					return false
				}
				told.add(o, err == nil, err) // accepted now, or in an attempt whose answer was lost
				return true
			})
		})
	}
	wg.Wait()
	return unknowns.Load()
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
	busytest.Slow(t)
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
	w := realOn(t, server, template, redisServer)
	down := make(chan error, 1)
	// The worker itself kills it, after its first batch, so the sale cannot be over before.
	services := []*selling.Service{w.start((&after{orders: 1, f: func() { down <- server.Kill() }}).note), w.start(nil)}
	w.create(services[0], 500, 4)
	restarted := make(chan error, 1)
	go func() {
		restarted <- errors.Join(<-down, server.Restart(t.Context()))
	}()
	told := &tally{}
	unknown := w.untilKnown(services, "order", 600, told)
	if err := <-restarted; err != nil {
		t.Fatal(err)
	}
	w.store = openPostgres(t, w.url) // the pool may still hold connections to the server that died
	w.checkSale(told)
	if told.accepted != 500 || unknown == 0 {
		t.Errorf("accepted %d of 500, %d outcomes were unknown", told.accepted, unknown)
	}
}
