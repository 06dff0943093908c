package selling_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/busytest"
	"inventory/internal/locking"
	"inventory/internal/servertest"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// answers is a lock on a Redis that answers as the test says, and counts the requests.
type answers struct {
	asked atomic.Int64
	mu    sync.Mutex
	hangs time.Duration
	err   error
}

func (a *answers) from(hangs time.Duration, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hangs, a.err = hangs, err
}

func (a *answers) Name() string { return "stub" }

func (a *answers) Lock(ctx context.Context, _ ...locking.LockOption) (*locking.Hold, error) {
	return a.TryLock(ctx)
}

func (a *answers) TryLock(context.Context, ...locking.LockOption) (*locking.Hold, error) {
	a.asked.Add(1)
	a.mu.Lock()
	hangs, err := a.hangs, a.err
	a.mu.Unlock()
	time.Sleep(hangs) // in virtual time
	if err != nil {
		return nil, err
	}
	return &locking.Hold{}, nil
}

// endless is a store of one segment that never runs short, and answers at once.
type endless struct{ stock.Store }

// Watch receives nothing until ctx ends.
func (endless) Watch(ctx context.Context, _ func(), _ func(sku string)) error {
	<-ctx.Done()
	return nil
}

func (endless) Views(_ context.Context, skus ...string) (map[string]stock.View, error) {
	views := make(map[string]stock.View)
	for _, sku := range skus {
		views[sku] = stock.View{Layout: 1, Segments: []int64{1 << 30}}
	}
	return views, nil
}

// Now is the clock of the process.
func (endless) Now() time.Time { return time.Now() }

func (endless) Clock(string) (earliest, latest time.Time) { return time.Now(), time.Now() }

// Expired reports none.
func (endless) BeingCounted(context.Context, int) ([]string, error) { return nil, nil }

func (endless) Expired(context.Context, time.Time, int) ([]stock.Due, error) { return nil, nil }

func (endless) Deduct(_ context.Context, b stock.Batch) (stock.BatchResult, error) {
	result := stock.BatchResult{Available: 1 << 30}
	for _, o := range b.Orders {
		result.Outcomes = append(result.Outcomes, stock.AcceptedOutcome(b.SKU, o, b.At))
	}
	return result, nil
}

// breaking runs a test in virtual time, with a service whose locks answer as the test says. buy returns how long an
// order took.
func breaking(t *testing.T, test func(a *answers, seen *counts, buy func(sku string) time.Duration)) {
	t.Helper()
	busytest.Virtual(t, func(t *testing.T) {
		a, seen := &answers{}, &counts{}
		s := serve(t, selling.Config{
			Store: endless{}, Observer: seen.note, Lock: func(string, int) locking.Locker { return a }, LockAlways: true,
		})
		test(a, seen, func(sku string) time.Duration {
			start := time.Now()
			if _, _, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: "a", Quantity: 1}); err != nil {
				t.Error(err)
			}
			return time.Since(start)
		})
	})
}

func TestFailingLocksAreLeftAlone(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"no answer": fmt.Errorf("lock: %w", locking.ErrNoAnswer),
		"refused":   errors.New("LOADING Redis is loading the dataset in memory"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			breaking(t, func(a *answers, seen *counts, buy func(string) time.Duration) {
				a.from(100*time.Millisecond, err)
				for range 3 {
					buy(sku)
				}
				if seen.opened.Load() != 1 {
					t.Errorf("opened %d times after three failures, want 1", seen.opened.Load())
				}
				for range 50 {
					if took := buy(sku); took > 0 {
						t.Fatalf("an order waited %v for Redis", took)
					}
				}
				if asked := a.asked.Load(); asked != 3 {
					t.Errorf("asked for %d locks, want 3", asked)
				}
			})
		})
	}
}

// probes returns when a lock is asked for, by a probe.
func (a *answers) probes(t *testing.T) {
	t.Helper()
	before := a.asked.Load()
	busytest.Soon(t, "a probe", func() bool { return a.asked.Load() > before })
}

// TestOneProbeAtATime: while locks fail one probe after another checks whether they work again. No worker probes, and no order waits
// for the answer.
func TestOneProbeAtATime(t *testing.T) {
	t.Parallel()
	breaking(t, func(a *answers, seen *counts, buy func(string) time.Duration) {
		a.from(100*time.Millisecond, locking.ErrNoAnswer)
		for range 3 {
			buy(sku)
		}
		for range 2 {
			before := a.asked.Load()
			a.probes(t)
			var workers sync.WaitGroup
			for n := range 20 {
				workers.Go(func() {
					if took := buy(fmt.Sprint("sku-", n)); took > 0 {
						t.Errorf("an order waited %v for Redis", took)
					}
				})
			}
			workers.Wait()
			synctest.Wait()
			if probes := a.asked.Load() - before; probes != 1 {
				t.Errorf("%d locks are asked for, want 1", probes)
			}
			time.Sleep(800 * time.Millisecond) // two more end, and the next one has not begun
			if probes := a.asked.Load() - before; probes != 3 {
				t.Errorf("probed %d times, want 3", probes)
			}
		}
		a.from(0, nil)
		time.Sleep(time.Second)
		synctest.Wait()
		asked := a.asked.Load()
		buy(sku)
		if a.asked.Load() == asked || seen.closed.Load() != 1 || seen.opened.Load() != 1 {
			t.Errorf("locks are not used again: opened %d, closed %d", seen.opened.Load(), seen.closed.Load())
		}
		asked = a.asked.Load()
		time.Sleep(5 * time.Second)
		if n := a.asked.Load() - asked; n > 0 {
			t.Errorf("%d probes while locks work", n)
		}
	})
}

// TestAProbeTriesAgain: a client learns from a failed try that the locks are at another server now.
func TestAProbeTriesAgain(t *testing.T) {
	t.Parallel()
	breaking(t, func(a *answers, seen *counts, buy func(string) time.Duration) {
		a.from(0, locking.ErrNoAnswer)
		for range 3 {
			buy(sku)
		}
		before := a.asked.Load()
		a.probes(t) // its first try fails
		synctest.Wait()
		a.from(0, nil)
		time.Sleep(300 * time.Millisecond)
		if tries := a.asked.Load() - before; tries != 2 || seen.closed.Load() != 1 {
			t.Errorf("closed %d times after %d tries, want once after two", seen.closed.Load(), tries)
		}
	})
}

// TestLocksComeBackInTime: whenever Redis comes back, also just after the last try of a probe has begun, locks are used
// again within half of the promised two seconds of virtual time, although the first try after that fails too. The other half is
// for a busy machine.
func TestLocksComeBackInTime(t *testing.T) {
	t.Parallel()
	const step = 50 * time.Millisecond
	for after := time.Duration(0); after < 2*time.Second; after += step {
		breaking(t, func(a *answers, seen *counts, buy func(string) time.Duration) {
			a.from(100*time.Millisecond, locking.ErrNoAnswer)
			for range 3 {
				buy(sku)
			}
			for end := time.Now().Add(after); time.Now().Before(end); time.Sleep(step) {
				buy(sku)
			}
			last := a.asked.Load() + 1
			start := time.Now()
			busytest.Soon(t, "locks come back", func() bool {
				if a.asked.Load() >= last {
					a.from(0, nil)
				}
				buy(sku)
				return seen.closed.Load() > 0
			})
			if took := time.Since(start); took > time.Second {
				t.Errorf("Redis was back %v after the breaker opened, locks %v later", after, took)
			}
		})
	}
}

func TestBusyLocksDoNotTrip(t *testing.T) {
	t.Parallel()
	breaking(t, func(a *answers, seen *counts, buy func(string) time.Duration) {
		for _, err := range []error{locking.ErrBusy, fmt.Errorf("merge: %w", locking.ErrLost)} {
			a.from(0, err)
			for range 20 {
				buy(sku)
			}
		}
		if seen.opened.Load() > 0 {
			t.Error("the breaker opened")
		}
	})
}

// TestLocksComeBack takes Redis away and gives it back: meanwhile no order asks for a lock, and afterwards locks are used
// again by themselves.
func TestLocksComeBack(t *testing.T) {
	busytest.Slow(t)
	restart := func(s *servertest.Redis) error { return s.Restart(context.Background()) }
	for name, c := range map[string]struct{ away, back func(*servertest.Redis) error }{
		"killed":  {(*servertest.Redis).Kill, restart},
		"stopped": {(*servertest.Redis).Pause, (*servertest.Redis).Resume},
		"full":    {maxMemory("1"), maxMemory("0")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startRedis(t)
			w, seen := realOn(t, postgresServer, postgresTemplate, server), &counts{}
			w.always = true
			s := w.start(seen.note)
			w.create(s, 100_000, 4)
			orders := 0
			buy := func() { orders++; w.deduct(s, fmt.Sprint(orders), 1) }
			buyUntil := func(what string, reached func() bool) {
				t.Helper()
				busytest.Soon(t, what, func() bool { buy(); return reached() })
			}
			buyUntil("a batch is locked", func() bool { return seen.locked() > 0 })
			if err := c.away(server); err != nil {
				t.Fatal(err)
			}
			probes := w.asked.probes.Load()
			// When the second of these probes begins, the first has failed, and the breaker stays open.
			buyUntil("two probes of a Redis that is away", func() bool { return w.asked.probes.Load() >= probes+2 })
			asked := w.asked.segments.Load()
			for range 100 {
				buy()
			}
			if asked := w.asked.segments.Load() - asked; asked > 0 {
				t.Errorf("100 orders asked for %d locks without Redis, want 0", asked)
			}
			if err := c.back(server); err != nil {
				t.Fatal(err)
			}
			locked := seen.locked()
			buyUntil("a batch is locked again", func() bool { return seen.locked() > locked })
			if b := w.audit(); b.Committed != int64(orders) {
				t.Errorf("sold %d, want %d", b.Committed, orders)
			}
		})
	}
}

// startRedis starts a Redis until the end of the test.
func startRedis(t *testing.T) *servertest.Redis {
	t.Helper()
	server, err := servertest.StartRedis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// maxMemory makes a server refuse commands that need memory, or accept them again.
func maxMemory(bytes string) func(*servertest.Redis) error {
	return func(server *servertest.Redis) error {
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		defer client.Close()
		return client.ConfigSet(context.Background(), "maxmemory", bytes).Err()
	}
}
