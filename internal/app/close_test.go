package app_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"inventory/internal/app"
	"inventory/internal/stock/sqlite"
	"inventory/internal/stock/stocktest"
)

// TestConcurrentClosesWaitForTheEnd: every caller of Close returns when all is closed.
func TestConcurrentClosesWaitForTheEnd(t *testing.T) {
	t.Parallel()
	file := stocktest.SQLiteFile(t)
	a, err := tryStart(t, app.Config{DatabaseURL: "sqlite:" + file})
	if err != nil {
		t.Fatal(err)
	}
	var closing sync.WaitGroup
	var one sync.Mutex
	for range 3 {
		closing.Go(func() {
			closeNow(t, a)
			one.Lock()
			defer one.Unlock()
			lock, err := sqlite.LockFile(file) // which Close gives up last
			if err != nil {
				t.Error(err)
				return
			}
			if err := lock.Unlock(); err != nil {
				t.Error(err)
			}
		})
	}
	closing.Wait()
	closeNow(t, a)
}

// countdown is a context that ends when it has been looked at so often.
type countdown struct {
	context.Context
	cancel context.CancelFunc
	left   atomic.Int64
}

func (c *countdown) look() {
	if c.left.Add(-1) == 0 {
		c.cancel()
	}
}

func (c *countdown) Err() error {
	c.look()
	return c.Context.Err()
}

func (c *countdown) Done() <-chan struct{} {
	c.look()
	return c.Context.Done()
}

// TestAStartThatIsStopped leaves nothing behind, wherever it is stopped: the next one gets the file.
func TestAStartThatIsStopped(t *testing.T) {
	t.Parallel()
	config := app.Config{DatabaseURL: "sqlite:" + stocktest.SQLiteFile(t)}
	stopped := 0
	for looks := int64(1); ; {
		c := &countdown{}
		c.Context, c.cancel = context.WithCancel(t.Context())
		c.left.Store(looks)
		a, err := app.Start(c, config)
		c.cancel()
		switch {
		case err == nil:
			if closeNow(t, a); stopped == 0 {
				t.Error("no start was stopped")
			}
			return
		case errors.Is(err, context.Canceled):
			stopped++
			looks *= 2
		case !isLate(err): // otherwise the machine is busy, and the start is tried again
			t.Fatalf("stopped after %d looks: %v", looks, err)
		}
	}
}
