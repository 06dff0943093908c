package locking

import (
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// BenchmarkMutexCycle is one caller's lock and unlock on a real Redis, beside a library that has neither
// tokens nor counts nor a watchdog.
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

// BenchmarkCrowd is 64 goroutines of one process that want one lock, without any work under it.
func BenchmarkCrowd(b *testing.B) {
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
