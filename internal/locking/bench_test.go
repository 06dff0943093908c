package locking

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// BenchmarkMutexCycle measures one caller's lock and unlock on a real Redis, next to a library that has neither tokens
// nor counts nor a watchdog.
func BenchmarkMutexCycle(b *testing.B) {
	rdb := redis.NewClient(&redis.Options{Addr: shared, ContextTimeoutEnabled: true})
	defer func() { _ = rdb.Close() }()
	ctx := b.Context()

	b.Run("inventory", func(b *testing.B) {
		locks, err := New(rdb)
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = locks.Close() }()
		m := locks.Mutex(b.Name())
		b.ReportAllocs()
		for b.Loop() {
			h, err := m.Lock(ctx)
			if err != nil {
				b.Fatal(err)
			}
			if err := h.Unlock(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("redislock", func(b *testing.B) {
		locks := redislock.New(rdb)
		b.ReportAllocs()
		for b.Loop() {
			h, err := locks.Obtain(ctx, b.Name(), 30*time.Second, nil)
			if err != nil {
				b.Fatal(err)
			}
			if err := h.Release(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkManyCallers measures 64 goroutines of one process on one lock, without any work under it.
func BenchmarkManyCallers(b *testing.B) {
	rdb := redis.NewClient(&redis.Options{Addr: shared, ContextTimeoutEnabled: true})
	defer func() { _ = rdb.Close() }()
	locks, err := New(rdb)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = locks.Close() }()
	m := locks.Mutex(b.Name())
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			h, err := m.Lock(b.Context())
			if err == nil {
				err = h.Unlock(b.Context())
			}
			if err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkContended measures 16 clients on one lock, with no work under it or in between: the cost of strict order.
func BenchmarkContended(b *testing.B) {
	for name, of := range map[string]func(l *Locks, name string) Locker{
		"mutex": func(l *Locks, name string) Locker { return l.Mutex(name) },
		"fair":  func(l *Locks, name string) Locker { return l.FairMutex(name) },
		"write": func(l *Locks, name string) Locker { return l.RWMutex(name).Writer() },
	} {
		b.Run(name, func(b *testing.B) {
			var clients []Locker
			for range 16 {
				rdb := redis.NewClient(&redis.Options{Addr: shared, ContextTimeoutEnabled: true})
				defer func() { _ = rdb.Close() }()
				locks, err := New(rdb)
				if err != nil {
					b.Fatal(err)
				}
				defer func() { _ = locks.Close() }()
				clients = append(clients, of(locks, b.Name()))
			}
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ResetTimer()
			var wg sync.WaitGroup
			for _, lock := range clients {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						h, err := lock.Lock(b.Context())
						if err != nil {
							b.Error(err)
							return
						}
						if err := h.Unlock(b.Context()); err != nil {
							b.Error(err)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}
