package locking_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"inventory/internal/locking"
)

// embedded returns Locks on a Redis inside this process.
func embedded() (*locking.Locks, func()) {
	server := miniredis.NewMiniRedis()
	server.ClockTTL(true)
	if err := server.Start(); err != nil {
		panic(err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true})
	locks, err := locking.New(rdb)
	if err != nil {
		panic(err)
	}
	return locks, func() {
		_ = locks.Close()
		_ = rdb.Close()
		server.Close()
	}
}

func ExampleLocks_Mutex() {
	locks, stop := embedded()
	defer stop()
	ctx := context.Background()
	mu := locks.Mutex("report")

	hold, err := mu.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = hold.Unlock(ctx) }()

	// Work under hold.Context(): it ends when the lock is lost, and it re-enters.
	again, err := mu.Lock(hold.Context())
	fmt.Println("re-entered:", err == nil && again.Token() == hold.Token())
	_ = again.Unlock(ctx)

	_, err = mu.TryLock(ctx)
	fmt.Println("somebody else:", errors.Is(err, locking.ErrBusy))
	// Output:
	// re-entered: true
	// somebody else: true
}

func ExampleMultiLock() {
	locks, stop := embedded()
	defer stop()
	ctx := context.Background()

	group := locking.Group("sku-1") // one slot: all of them in one trip
	hold, err := locking.MultiLock(
		locks.Mutex("sku-1/7", group),
		locks.Mutex("sku-1/3", group),
	).Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, part := range hold.Parts() { // in the order of the arguments
		fmt.Println(part.Token() > 0)
	}
	fmt.Println(hold.Unlock(ctx))
	// Output:
	// true
	// true
	// <nil>
}
