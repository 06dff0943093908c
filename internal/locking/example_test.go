package locking_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"inventory/internal/keyexpiry"
	"inventory/internal/locking"
)

// embedded returns Locks on a Redis inside this process.
func embedded() (*locking.Locks, func()) {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		panic(err)
	}
	expiry := keyexpiry.Start(server)
	rdb := redis.NewClient(&redis.Options{
		Addr: server.Addr(), ContextTimeoutEnabled: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	locks, err := locking.New(rdb) // a redis.UniversalClient: one server, Sentinel, Cluster, or miniredis
	if err != nil {
		panic(err)
	}
	return locks, func() {
		_ = locks.Close()
		_ = rdb.Close()
		expiry()
		server.Close()
	}
}

func ExampleLocks_Mutex() {
	locks, stop := embedded()
	defer stop()
	ctx := context.Background()
	write := func(_ context.Context, token int64) error {
		fmt.Println("written under a token:", token > 0)
		return nil
	}
	report := func() (err error) {
		hold, err := locks.Mutex("report").Lock(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, hold.Unlock(ctx)) }()
		return write(hold.Context(), hold.Token()) // the context ends when the lock is lost; the token is for the guard
	}
	fmt.Println(report())
	// Output:
	// written under a token: true
	// <nil>
}

// An owner enters again under the context of its hold. Others do not.
func ExampleLocks_Mutex_reentrant() {
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
	again, err := mu.Lock(hold.Context())
	fmt.Println("re-entered:", err == nil && again.Token() == hold.Token())
	_ = again.Unlock(ctx)

	_, err = mu.TryLock(ctx)
	fmt.Println("somebody else:", errors.Is(err, locking.ErrBusy))
	// Output:
	// re-entered: true
	// somebody else: true
}

// Waiters get the lock in the order in which they came, whatever their process.
func ExampleLocks_FairMutex() {
	locks, stop := embedded()
	defer stop()
	ctx := context.Background()
	mu := locks.FairMutex("ticket office")

	hold, err := locks.FairMutex("ticket office").Lock(ctx, locking.Wait(time.Minute))
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan string)
	for i, who := range []string{"Ada", "Grace", "Mary"} {
		go func() {
			hold, err := mu.Lock(ctx)
			if err != nil {
				fmt.Println(err)
				return
			}
			served <- who
			_ = hold.Unlock(ctx)
		}()
		for queued := false; !queued; { // until it stands in the queue
			state, err := mu.Inspect(ctx)
			queued = err != nil || state.Waiting == i+1
		}
	}
	_ = hold.Unlock(ctx)
	fmt.Println(<-served, <-served, <-served)
	// Output:
	// Ada Grace Mary
}

func ExampleLocks_RWMutex() {
	locks, stop := embedded()
	defer stop()
	ctx := context.Background()
	mu := locks.RWMutex("price list")

	write, err := mu.Writer().Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = mu.Reader().TryLock(ctx)
	fmt.Println("somebody reads beside a writer:", !errors.Is(err, locking.ErrBusy))

	// The writer becomes a reader. Nobody writes in between, and others may read now.
	read, err := mu.Reader().Lock(write.Context())
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = write.Unlock(ctx)
	other, err := mu.Reader().TryLock(ctx)
	fmt.Println("somebody reads beside a reader:", err == nil && other.Token() == read.Token())

	_, err = mu.Writer().TryLock(read.Context())
	fmt.Println("the other way round:", err)
	_ = other.Unlock(ctx)
	_ = read.Unlock(ctx)
	// Output:
	// somebody reads beside a writer: false
	// somebody reads beside a reader: true
	// the other way round: locking: who reads cannot write
}

func ExampleRedLock() {
	var nodes []*locking.Locks
	for range 3 { // three servers that know nothing of each other
		locks, stop := embedded()
		defer stop()
		nodes = append(nodes, locks)
	}
	_ = nodes[2].Close() // one of them may be gone
	ctx := context.Background()
	mu := locking.RedLock("report", nodes...)
	hold, err := mu.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("nodes:", len(hold.Parts()))
	fmt.Println("one token:", hold.Parts()[0].Token() == hold.Token() && hold.Parts()[1].Token() == hold.Token())

	_, err = mu.TryLock(ctx)
	fmt.Println("somebody else:", errors.Is(err, locking.ErrBusy))
	fmt.Println(hold.Unlock(ctx))
	// Output:
	// nodes: 2
	// one token: true
	// somebody else: true
	// <nil>
}

func ExampleMultiLock() {
	locks, stop := embedded()
	defer stop()
	ctx := context.Background()

	group := locking.Group("sku-1") // one slot: all of them in one round trip
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

// TestTheExamplesOfTheHandbookRun: each example of Go in docs/LOCKS.md is part of one here.
func TestTheExamplesOfTheHandbookRun(t *testing.T) {
	t.Parallel()
	indented := regexp.MustCompile(`(?m)^\t+`)
	var texts [2]string
	for i, file := range []string{"example_test.go", "../../docs/LOCKS.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = indented.ReplaceAllString(string(text), "")
	}
	shown := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(texts[1], -1)
	if len(shown) != 7 {
		t.Errorf("got %d examples, want 7", len(shown))
	}
	for _, one := range shown {
		if !strings.Contains(texts[0], one[1]) {
			t.Errorf("no example has\n%s", one[1])
		}
	}
}
