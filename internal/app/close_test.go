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

// TestWhoClosesTogetherWaitsTogether: every caller of Close returns when all is closed.
func TestWhoClosesTogetherWaitsTogether(t *testing.T) {
	t.Parallel()
	file := stocktest.SQLiteFile(t)
	a, err := app.Start(t.Context(), app.Config{DatabaseURL: "sqlite:" + file})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context())
	var closing sync.WaitGroup
	var one sync.Mutex
	for range 3 {
		closing.Go(func() {
			if err := a.Close(ctx); err != nil {
				t.Error(err)
			}
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
	if err := a.Close(ctx); err != nil {
		t.Errorf("once more: %v", err)
	}
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
	for looks := int64(1); ; looks *= 2 {
		c := &countdown{}
		c.Context, c.cancel = context.WithCancel(t.Context())
		c.left.Store(looks)
		a, err := app.Start(c, config)
		c.cancel()
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("stopped after %d looks: %v", looks, err)
			}
			stopped++
			continue
		}
		if err := a.Close(context.WithoutCancel(c)); err != nil || stopped == 0 {
			t.Errorf("%d starts were stopped; close: %v", stopped, err)
		}
		return
	}
}
