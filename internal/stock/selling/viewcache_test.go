package selling_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// relaid is a store whose SKUs change their layout, and which counts the looks at them.
type relaid struct {
	endless
	layout, looks atomic.Int64
	restocked     chan string // by another process
}

// Watch passes on what another process restocks.
func (r *relaid) Watch(ctx context.Context, _ func(), restocked func(sku string)) error {
	for {
		select {
		case sku := <-r.restocked:
			restocked(sku)
		case <-ctx.Done():
			return nil
		}
	}
}

func (r *relaid) Views(_ context.Context, skus ...string) (map[string]stock.View, error) {
	r.looks.Add(1)
	views := make(map[string]stock.View)
	for _, sku := range skus {
		views[sku] = stock.View{Layout: r.layout.Load(), Segments: []int64{1 << 30}}
	}
	return views, nil
}

func (r *relaid) Deduct(ctx context.Context, b stock.Batch) (stock.BatchResult, error) {
	if b.Layout != r.layout.Load() {
		return stock.BatchResult{}, stock.ErrLayout
	}
	return r.endless.Deduct(ctx, b)
}

// TestARareSKUIsLookedAtOnce: a SKU that sells now and then has a new worker each time, which begins with what the last one knew. It looks
// again only after the SKU has changed, or was restocked.
func TestARareSKUIsLookedAtOnce(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		store := &relaid{restocked: make(chan string)}
		s, looks := serve(t, selling.Config{Store: store}), int64(1)
		nothing := func() {}
		for n, step := range []struct {
			before func()
			looks  int64
		}{
			{nothing, 0},
			{nothing, 0},
			{func() { store.layout.Add(1) }, 1},
			{nothing, 0},
			{func() { store.restocked <- "rare" }, 1},
			{nothing, 0},
			{func() { store.restocked <- "another" }, 0},
		} {
			step.before()
			synctest.Wait()
			looks += step.looks
			if _, created, err := s.Deduct(t.Context(), "rare", stock.Order{OrderID: fmt.Sprint(n), Quantity: 1}); err != nil || !created {
				t.Fatalf("order %d: created %v, %v", n, created, err)
			}
			if got := store.looks.Load(); got != looks {
				t.Errorf("order %d: %d looks at the SKU until now, want %d", n, got, looks)
			}
			time.Sleep(time.Minute)
		}
	})
}
